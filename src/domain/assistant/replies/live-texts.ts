import { EventEmitter } from 'node:events';

/** The message that this process is receiving from the model for a conversation, and where the rows are. */
export interface LiveText {
  project_id: number;
  user_id: number;
  /** The version since which nothing but this text has changed: who has it needs no rows. */
  since: number;
  message: number | null;
  text: string;
}

/** Milliseconds that texts are gathered before subscribers are woken: one more for each conversation, so that many share a processor. */
const shortestPause = 8;

/** Texts as they come, for subscribers of this process; those of other processes read the rows, which follow within a second. */
export class LiveTexts {
  readonly #texts = new Map<string, LiveText>();
  readonly #wakes = new EventEmitter<Record<string, []>>().setMaxListeners(0);
  readonly #timers = new Map<string, NodeJS.Timeout>();

  get(conversation: string): LiveText | undefined {
    return this.#texts.get(conversation);
  }

  begin(conversation: string, live: LiveText): void {
    this.#texts.set(conversation, live);
  }

  /** Adds to the message in hand. The first piece goes out at once. */
  append(conversation: string, text: string): void {
    const live = this.#texts.get(conversation);
    if (!live) return;
    const isFirst = live.text === '';
    live.text += text;
    if (isFirst) this.wake(conversation);
    if (isFirst || this.#timers.has(conversation)) return;
    this.#timers.set(
      conversation,
      setTimeout(() => this.wake(conversation), Math.max(shortestPause, this.#texts.size)),
    );
  }

  end(conversation: string): void {
    this.#texts.delete(conversation);
    this.wake(conversation);
  }

  wake(conversation: string): void {
    clearTimeout(this.#timers.get(conversation));
    this.#timers.delete(conversation);
    this.#wakes.emit(conversation);
  }

  watch(conversation: string, wake: () => void): () => void {
    this.#wakes.on(conversation, wake);
    return () => this.#wakes.off(conversation, wake);
  }
}
