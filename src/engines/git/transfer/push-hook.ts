import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DomainError } from '../../../kernel/errors.ts';
import type { PushVerdict } from '../../../ports/git-transfer.ts';
import { writeNewFile } from '../durable-files.ts';
import type { Config } from '../git-child.ts';

/** What the hook passes on. */
export interface HookCall {
  /** `<old> <new> <ref>` lines (githooks, pre-receive). */
  lines: string;
  /** `GIT_QUARANTINE_PATH`; null when the push brings no objects. */
  quarantine: string | null;
}

/** What one receive-pack needs to call this server. */
export interface OpenHook {
  config: Config;
  env: Record<string, string>;
  /** Answers no more. */
  close(): void;
}

/**
 * git runs this; it is a shell script, because what it runs in turn may lie at a path with spaces. V8 does not start within the memory of a
 * git process.
 */
const hook = '#!/bin/sh\nulimit -S -d "$(ulimit -H -d)"\nexec "$PORTICO_NODE" "$PORTICO_HOOK"\n';

/** Sends git's input of the hook over the socket and prints the answer. Any failure refuses the push. */
const program = `'use strict';
const { PORTICO_SOCKET: path, PORTICO_NONCE: nonce, GIT_QUARANTINE_PATH: quarantine = null } = process.env;
const refuse = (message) => {
  process.stderr.write(message + '\\n');
  process.exitCode = 1;
};
const socket = require('node:net').connect(path);
let answer = '';
socket.setEncoding('utf8').on('data', (data) => (answer += data));
socket.on('error', () => refuse('the server could not be reached about this push'));
socket.on('end', () => {
  const verdict = answer === '' ? { message: 'the server did not answer' } : JSON.parse(answer);
  if (verdict.allow !== true) refuse(verdict.message);
});
const lines = require('node:fs').readFileSync(0).toString('base64');
socket.end(JSON.stringify({ nonce, quarantine, lines }));
`;

/** More than the commands of any push take, bytes; what else can reach the socket keeps no more of the memory. */
const mostCall = 8 * 1024 * 1024;

async function textOf(connection: Socket): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  // It stays open for the answer.
  for await (const part of connection.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > mostCall) throw new Error(`a call of the hook has more than ${mostCall} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** The pre-receive hook of this process: the only hook git ever runs, and the local socket it calls. */
export class PushHooks {
  readonly #directory: string;
  readonly #pending = new Map<string, (call: HookCall) => Promise<PushVerdict>>();
  #listening: Promise<{ server: Server; socket: string }> | null = null;

  /** @param directory where the hook is written to */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Allows one receive-pack one call. */
  async open(answer: (call: HookCall) => Promise<PushVerdict>): Promise<OpenHook> {
    const socket = await this.#socket();
    const program = join(this.#directory, 'pre-receive.cjs');
    // git passes over a hook it cannot run, and the push would be accepted unasked.
    await access(join(this.#directory, 'pre-receive'), constants.X_OK).catch((cause) => {
      throw new DomainError('unavailable', 'Pushes cannot be checked here', { cause });
    });
    const nonce = randomUUID();
    // Calls come by the socket, in whose context work would count as that of the first push of all.
    this.#pending.set(nonce, AsyncLocalStorage.bind(answer));
    return {
      config: [['core.hooksPath', this.#directory]],
      env: {
        PORTICO_NODE: process.execPath,
        PORTICO_HOOK: program,
        PORTICO_SOCKET: socket,
        PORTICO_NONCE: nonce,
      },
      close: () => void this.#pending.delete(nonce),
    };
  }

  async close(): Promise<void> {
    const listening = await this.#listening?.catch(() => null);
    this.#listening = null;
    if (listening == null) return;
    listening.server.close();
    await rm(join(listening.socket, '..'), { recursive: true, force: true });
  }

  /** The socket's path. Directories of temporary files are cleaned by others, so it is looked for every time. */
  async #socket(): Promise<string> {
    const known = await this.#listening?.catch(() => null);
    if (known != null && (await stat(known.socket).catch(() => null)) !== null) return known.socket;
    known?.server.close();
    this.#listening = this.#listen();
    return (await this.#listening).socket;
  }

  async #listen(): Promise<{ server: Server; socket: string }> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    await writeScript(join(this.#directory, 'pre-receive.cjs'), program, 0o600);
    await writeScript(join(this.#directory, 'pre-receive'), hook, 0o700);
    // The data directory's path may be too long: the path of a socket has about a hundred bytes.
    const socket = join(await mkdtemp(join(tmpdir(), 'portico-')), 's');
    const server = createServer({ allowHalfOpen: true }, (connection) => {
      connection.on('error', () => {});
      this.#answer(connection).then(
        (verdict) => connection.end(JSON.stringify(verdict)),
        () => connection.destroy(),
      );
    });
    server.unref();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(socket, resolve);
    });
    return { server, socket };
  }

  async #answer(connection: Socket): Promise<PushVerdict> {
    const { nonce, lines, quarantine } = JSON.parse(await textOf(connection)) as HookCall & { nonce: string };
    const answer = this.#pending.get(nonce);
    if (answer === undefined) return { allow: false, message: 'this push is not expected' };
    this.#pending.delete(nonce);
    return answer({ lines: Buffer.from(lines, 'base64').toString('utf8'), quarantine });
  }
}

/** Other processes on the same data directory may be running the one that is replaced. */
async function writeScript(path: string, content: string, mode: number): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  await writeNewFile(aside, content, mode);
  await rename(aside, path);
}
