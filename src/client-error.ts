import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';

interface Refusal {
  line: string;
  code: string;
  message: string;
}

const overflow: Refusal = {
  line: '431 Request Header Fields Too Large',
  code: 'invalid_request',
  message: 'The headers are larger than 32768 bytes',
};
const slow: Refusal = {
  line: '408 Request Timeout',
  code: 'request_timeout',
  message: 'The headers did not arrive in time',
};
const malformed: Refusal = { line: '400 Bad Request', code: 'invalid_request', message: 'This is not valid HTTP/1.1' };

function refusalFor(error: NodeJS.ErrnoException): Refusal {
  if (error.code === 'HPE_HEADER_OVERFLOW') return overflow;
  return error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? slow : malformed;
}

/** Answers what never became a request, with the same body as every other refusal. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { line, code, message } = refusalFor(error);
  const body = JSON.stringify({ message, error: true, code, request_id: randomUUID() });
  const headers = ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close'];
  socket.end(`HTTP/1.1 ${line}\r\n${headers.join('\r\n')}\r\n\r\n${body}`);
}
