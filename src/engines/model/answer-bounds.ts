/**
 * What the client of a provider may be given of an answer. It reads an event of the stream whole and in one go, and what it does with the calls in
 * one, or with the calls of a whole answer, takes as long as the square of their number: all of that is measured first.
 */
import { type JsonLimits, JsonMeter } from '../../kernel/json-input.ts';
import { ModelFault } from '../../ports/model.ts';

/** Bytes of one event. A piece of text has some hundred, whole calls some ten thousand. */
const longestEvent = 256 * 1024;

/** Values of one event, its lines counted with them, and of the arguments of one call. Those of real events are some dozens. */
const eventLimits: JsonLimits = { levels: 100, values: 2_000 };
const argumentLimits: JsonLimits = { levels: 100, values: 10_000 };

/**
 * Events of one answer, however many tokens it may have. The client parses and checks each, which costs the main thread more than its bytes do.
 * Real ones have more than a hundred bytes, so an answer of the most bytes has fewer of them.
 */
const mostEvents = 40_000;

/**
 * How many events an answer may have: a provider sends about one for each token, and some that show that it is alive.
 * @param maxTokens of the answer
 */
export const mostEventsFor = (maxTokens: number): number => Math.min(4 * maxTokens + 1_000, mostEvents);

/** Lines of an answer that belong to no event. The client makes an error of each. */
const mostStrays = 100;

/** Calls of one answer. A reply takes fewer, and says so once the answer is whole; these are counted as they begin. */
const mostCalls = 100;

const excess = (message: string) => new ModelFault('malformed', `The model has ${message}; its answer was given up`);

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** A line that the client reads without an error, by its first bytes. */
const isOfEvent = (start: string) => /^(?:data|event|id)?(?::|$)/.test(start);
const startLength = 'event:'.length;

/** Measures the events of a stream as its bytes come in (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export class EventMeter {
  readonly #most: number;
  #events = 0;
  #bytes = 0;
  /** Values that the event may still have when a line begins. */
  #left = eventLimits.values;
  /** Of the line that is read; null: nothing has come of it. JSON has no text of several lines, so a quote in another field hides nothing. */
  #line: JsonMeter | null = null;
  #start = '';
  #strays = 0;
  #followsReturn = false;

  /** @param mostEvents that the answer may have */
  constructor(mostEvents: number) {
    this.#most = mostEvents;
  }

  /** @returns what is wrong with the answer; null: nothing, so far */
  take(bytes: Uint8Array): ModelFault | null {
    for (let at = 0; at < bytes.length; ) {
      const end = endOfLine(bytes, at);
      if (end > at) this.#takeLine(bytes, at, end);
      if (this.#bytes > longestEvent) return excess(`sent more than ${longestEvent / 1024} KiB in one piece`);
      if (this.#left < 1) return excess('sent more values in one piece than any answer has');
      if (end < bytes.length) this.#endLine(bytes[end] === carriageReturn);
      if (this.#events > this.#most) return excess(`sent its answer in more than ${this.#most} pieces`);
      if (this.#strays > mostStrays) return excess('sent something that is no stream of events');
      at = end + 1;
    }
    return null;
  }

  #takeLine(bytes: Uint8Array, from: number, to: number): void {
    this.#followsReturn = false;
    this.#bytes += to - from;
    for (let at = from; at < to && this.#start.length < startLength; at += 1)
      this.#start += String.fromCharCode(bytes[at] as number);
    this.#line ??= new JsonMeter({ ...eventLimits, values: this.#left });
    if (this.#line.take(bytes, from, to) !== null) this.#left = 0;
  }

  #endLine(isReturn: boolean): void {
    const isOneWithBefore = this.#followsReturn && !isReturn;
    this.#followsReturn = isReturn;
    if (isOneWithBefore) return;
    if (this.#line) {
      this.#left -= this.#line.values;
      if (!isOfEvent(this.#start)) this.#strays += 1;
    } else {
      if (this.#bytes > 0) this.#events += 1;
      this.#bytes = 0;
      this.#left = eventLimits.values;
    }
    this.#line = null;
    this.#start = '';
  }
}

function endOfLine(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== lineFeed && bytes[at] !== carriageReturn) at += 1;
  return at;
}

/**
 * Looks at how many calls of an answer have begun.
 * @throws ModelFault for more than any answer has
 */
export function checkCalls(begun: number): void {
  if (begun > mostCalls) throw excess(`called more than ${mostCalls} tools at once`);
}

/**
 * Measures the arguments of a call before they are read.
 * @throws ModelFault when that would take long
 */
export function checkArguments(text: string): void {
  const { levels, values } = argumentLimits;
  if (new JsonMeter(argumentLimits).take(Buffer.from(text)) !== null)
    throw excess(`called a tool with more than ${values} values, or ${levels} levels of them`);
}
