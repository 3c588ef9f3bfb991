/**
 * What changes while it is shown. The tab has one stream (`watch`) of the project it is in, for the topics of all that is mounted; it goes on
 * without loss after a lost connection, when topics come and go, and when the tab was hidden.
 */
import { useEffect, useEffectEvent } from 'react';
import { Watch } from '../documents.ts';
import { follow } from './follow.ts';
import { usePlace } from './place.ts';

/** A branch, pull request, entry or deployment is at this version now; for a topic of one object this is said at the beginning as well. */
export interface LiveEvent {
  /** As it was named. */
  topic: string;
  /** Name of the branch or slug of the entry, number or id. */
  id: string;
  /** Of a branch its commit, of an entry its blob; null: it is gone. */
  version: string | null;
}

/** Called with null when there may have been events that are not known: what is shown is to be read anew. */
type Listener = (event: LiveEvent | null) => void;

interface Subscriber {
  organization: string;
  project: string;
  topics: readonly string[];
  notify: Listener;
}

interface Stream {
  organization: string;
  project: string;
  topics: ReadonlySet<string>;
  close: () => void;
}

/** The server takes no more in one subscription. */
const mostTopics = 20;
/** Milliseconds: a page leaves and the next one comes within one change of the stream. */
const settling = 50;
/** Milliseconds after which a hidden tab ends its stream: over HTTP/1.1 a browser opens six connections to a server for all tabs. */
const hiddenFor = 30_000;
/** Milliseconds after which a stream that the server ended, such as that of a session that has ended, is requested again. */
const endedFor = 30_000;

/** Topic of one entry: its blob on a branch. */
export const entryTopic = (branch: string, collection: string, slug: string): string =>
  `entry:${[branch, collection, slug].map(encodeURIComponent).join('/')}`;

const subscribers = new Set<Subscriber>();
let stream: Stream | null = null;
/** Behind the last event; of the project of the last stream. */
let last: { organization: string; project: string; position: string } | null = null;
let settled: ReturnType<typeof setTimeout> | undefined;
let isPaused = false;

type At = Pick<Subscriber, 'organization' | 'project'>;
const isAt = (one: At | null | undefined, other: At): boolean =>
  one?.organization === other.organization && one.project === other.project;

function notify(at: At, event: LiveEvent | null): void {
  for (const subscriber of subscribers)
    if (isAt(subscriber, at) && (event === null || subscriber.topics.includes(event.topic))) subscriber.notify(event);
}

function open(at: At, topics: readonly string[]): Stream {
  const { organization, project } = at;
  const lose = () => {
    last = null;
    notify(at, null);
  };
  /** The topic that notified a subscriber of the beginning: one refresh is enough for all of its topics. */
  const begun = new Map<Subscriber, string>();
  // What is shown was read before the stream began, and a topic of many begins with none of its objects.
  const begin = (topic: string) => {
    for (const subscriber of subscribers) {
      const isMeant = isAt(subscriber, at) && subscriber.topics.includes(topic);
      if (!isMeant || (begun.get(subscriber) ?? topic) !== topic) continue;
      begun.set(subscriber, topic);
      subscriber.notify(null);
    }
  };
  const close = follow({
    document: Watch,
    variables: { organization, project, topics: [...topics] },
    position: isAt(last, at) ? (last?.position ?? null) : null,
    positionOf: ({ watch }) => watch?.position ?? null,
    onData: ({ watch }) => {
      if (!watch) return;
      const { topic, id, version, position } = watch;
      last = { organization, project, position };
      if (id === null) begin(topic);
      else notify(at, { topic, id, version });
    },
    onLost: lose,
    onEnd: () => {
      stream = null;
      schedule(endedFor);
    },
  });
  return { organization, project, topics: new Set(topics), close };
}

/** Opens the stream that the mounted pages need, unless it is open. */
function settle(): void {
  const newest = [...subscribers].at(-1);
  const wanted = newest ? [...subscribers].filter((each) => isAt(each, newest)) : [];
  const topics = [...new Set(wanted.flatMap((each) => each.topics))].slice(-mostTopics);
  const isNeeded = newest !== undefined && topics.length > 0 && !isPaused;
  if (stream && isNeeded && isAt(stream, newest) && topics.every((topic) => stream?.topics.has(topic))) return;
  stream?.close();
  stream = isNeeded ? open(newest, topics) : null;
}

function schedule(milliseconds = settling): void {
  clearTimeout(settled);
  settled = setTimeout(settle, milliseconds);
}

let hidden: ReturnType<typeof setTimeout> | undefined;
document.addEventListener('visibilitychange', () => {
  clearTimeout(hidden);
  const pause = () => {
    isPaused = true;
    settle();
  };
  if (document.hidden) hidden = setTimeout(pause, hiddenFor);
  else {
    isPaused = false;
    schedule();
  }
});

/**
 * Calls `onEvent` for each change of what is named, in the project of the page, as long as the component is mounted. All components of a page may
 * name 20 topics: `branch`, `branch:<name>`, `pull`, `pull:<number>`, `deployment`, `deployment:<id>`, and `entryTopic()`.
 * @param onEvent called with null when changes are not known, as when the stream begins: read anew what is shown
 */
export function useLive(topics: readonly string[], onEvent: Listener): void {
  const { organization, project } = usePlace();
  const onChange = useEffectEvent(onEvent);
  const names = JSON.stringify(topics);
  useEffect(() => {
    const named = JSON.parse(names) as string[];
    const subscriber = { organization, project, topics: named, notify: (event: LiveEvent | null) => onChange(event) };
    subscribers.add(subscriber);
    schedule();
    return () => {
      subscribers.delete(subscriber);
      schedule();
    };
  }, [organization, project, names]);
}
