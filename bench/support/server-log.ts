import { readFile } from 'node:fs/promises';

/** What the server says when its start is over. */
export interface ReadyLine {
  time: string;
  milliseconds: number;
}

/** The line the server logs at the end of its start, when the demo is there and the address was shown. */
export async function readyLine(logFile: string): Promise<ReadyLine | null> {
  const lines = (await readFile(logFile, 'utf8')).split('\n');
  const line = lines.find((text) => text.includes('"msg":"ready"'));
  return line ? (JSON.parse(line) as ReadyLine) : null;
}

/** Milliseconds the server took for each request, by request id. */
export async function durationsIn(logFile: string): Promise<Map<string, number>> {
  const lines = (await readFile(logFile, 'utf8')).split('\n').filter((line) => line.includes('"duration_ms"'));
  const requests = lines.map((line) => JSON.parse(line) as { request_id: string; duration_ms: number });
  return new Map(requests.map(({ request_id, duration_ms }) => [request_id, duration_ms]));
}
