import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressBlock } from '../../domain/users/throttle.ts';

/** So many connections are taken without a look at the limit, which costs some milliseconds to find out. */
const few = 256;

/** How many connections a process keeps: half of its file descriptors, since the database, git and files need some, too (`ulimit -n`). */
function half(): number {
  // Names of peers would be looked up.
  Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const soft = Number(userLimits?.open_files?.soft);
  return soft > 0 ? Math.max(few, Math.floor(soft / 2)) : Number.POSITIVE_INFINITY;
}

/** Connections of one network, the longest held first. */
interface Held {
  /** No request is under way. */
  idle: Set<Socket>;
  busy: Set<Socket>;
}

const sizeOf = ({ idle, busy }: Held) => idle.size + busy.size;

/**
 * Bounds the connections of a process. One that comes when there is no room takes the place of the one that has been idle the longest in the
 * network that holds the most, so that a client that opens any number of them keeps out no other; where none there is idle, of the oldest.
 */
export class ConnectionLimit {
  #most: number | undefined;
  readonly #blocks = new Map<string, Held>();
  #open = 0;

  /** @param most default: half of the process's file descriptors */
  constructor(most?: number) {
    this.#most = most;
  }

  /** Counts the connections of a server from now on. */
  watch(server: Server): void {
    server.on('connection', (socket) => this.#add(socket));
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => this.#begin(socket, response));
  }

  #add(socket: Socket): void {
    const block = addressBlock(socket.remoteAddress);
    const held = this.#blocks.get(block) ?? { idle: new Set(), busy: new Set() };
    this.#blocks.set(block, held);
    held.idle.add(socket);
    this.#open += 1;
    socket.once('close', () => {
      this.#open -= 1;
      held.idle.delete(socket);
      held.busy.delete(socket);
      if (sizeOf(held) === 0) this.#blocks.delete(block);
    });
    if (this.#open > few || this.#most !== undefined) this.#makeRoom();
  }

  #begin(socket: Socket, response: ServerResponse): void {
    const held = this.#blocks.get(addressBlock(socket.remoteAddress));
    if (!held?.idle.delete(socket)) return;
    held.busy.add(socket);
    response.once('close', () => {
      if (held.busy.delete(socket) && !socket.destroyed) held.idle.add(socket);
    });
  }

  #makeRoom(): void {
    this.#most ??= half();
    if (this.#open <= this.#most) return;
    let largest: Held | undefined;
    for (const held of this.#blocks.values()) if (!largest || sizeOf(held) > sizeOf(largest)) largest = held;
    const [longest = largest?.busy.values().next().value] = largest?.idle ?? [];
    longest?.destroy();
  }
}
