/** One server-sent event, and whatever comments came before it. */
export interface ServerEvent {
  id?: string;
  event?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  data?: any;
}

/** A stream of events being read. */
export interface EventStream {
  status: number;
  headers: Headers;
  /** The body of an answer that is no stream. */
  text(): Promise<string>;
  /** The next event; null when the stream has ended. Comments are passed over. */
  next(): Promise<ServerEvent | null>;
  /** The next comment. */
  comment(): Promise<string | null>;
  close(): void;
}

function parse(block: string): ServerEvent {
  const event: ServerEvent = {};
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
    if (name === 'data') event.data = value === '' ? '' : JSON.parse(value);
    else if (name === 'id' || name === 'event') event[name] = value;
  }
  return event;
}

/** Asks a GraphQL endpoint for a stream. */
export async function openStream(
  url: string,
  token: string | null,
  query: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
): Promise<EventStream> {
  const ended = new AbortController();
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    signal: ended.signal,
    headers: {
      Accept: 'text/event-stream',
      'Content-Type': 'application/json',
      ...(token !== null && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: body ?? JSON.stringify({ query }),
  });
  let buffer = '';
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const reader = isStream ? response.body?.pipeThrough(new TextDecoderStream()).getReader() : undefined;
  const block = async (wanted: (text: string) => boolean): Promise<string | null> => {
    for (;;) {
      const end = buffer.indexOf('\n\n');
      if (end >= 0) {
        const text = buffer.slice(0, end);
        buffer = buffer.slice(end + 2);
        if (wanted(text)) return text;
        continue;
      }
      const { done, value } = (await reader?.read()) ?? { done: true };
      if (done) return null;
      buffer += value;
    }
  };
  return {
    status: response.status,
    headers: response.headers,
    text: () => response.text(),
    async next() {
      const text = await block((each) => !each.startsWith(':'));
      return text === null ? null : parse(text);
    },
    comment: () => block((each) => each.startsWith(':')),
    close: () => ended.abort(),
  };
}
