import { EventEmitter } from 'node:events';
import type { MikroORM } from '@mikro-orm/postgresql';
import { LRUCache } from 'lru-cache';
import { executeBound } from '../kernel/sql.ts';
import type { EventFeed, EventSubject } from '../ports/event-feed.ts';
import type { Log } from '../ports/log.ts';

/** The channel on which the database announces new events; the payload is the subject's name. */
export const eventChannel = 'portico_event';

/** An event may name a thousand paths, and many read at the same time. Bytes: one event is read however long it is. */
const eventsAtOnce = 10;
const bytesAtOnce = 1024 * 1024;
/** A subject is announced at most so many times a second: reading what came meanwhile costs no more than reading one event. */
const mostAnnouncements = 5;
const second = 1_000;

const nameOf = ({ project_id, topic }: EventSubject) => `${project_id} ${topic}`;

// Data travel as texts: `json` keeps them to the letter, escapes that PostgreSQL's own functions refuse included.
const appendSql = `
  with news as (
    select * from json_to_recordset($1::json) as news (project_id integer, topic text, count integer, is_notified boolean)
  ), counted as (
    insert into event_subject (project_id, topic, seq, at)
    select project_id, topic, count, $2::timestamptz from news order by project_id, topic
    on conflict (project_id, topic) do update set seq = event_subject.seq + excluded.seq, at = excluded.at
    returning project_id, topic, seq
  ), added as (
    insert into event (project_id, topic, seq, at, data)
    select project_id, topic, seq - count + number, $2::timestamptz, data::json
    from json_to_recordset($3::json) as given (project_id integer, topic text, number integer, data text)
      join counted using (project_id, topic) join news using (project_id, topic)
  )
  select pg_notify('${eventChannel}', project_id || ' ' || topic) from news where is_notified`;

const readSql = `
  select seq, data from (
    select seq, data, sum(octet_length(data::text)) over (order by seq) as bytes
    from (select seq, data from event where project_id = ? and topic = ? and seq > ? order by seq limit ${eventsAtOnce}) as few
  ) as weighed where bytes <= ${bytesAtOnce} or seq = ? order by seq`;

/** How often subjects were announced by this process. */
class Announcements {
  readonly #times = new LRUCache<string, number[]>({ max: 1_000 });
  readonly #late = new Set<string>();

  /** @returns milliseconds until a subject may be announced; null: somebody waits to do it already */
  wait(name: string): number | null {
    if (this.#late.has(name)) return null;
    const now = performance.now();
    const recent = (this.#times.get(name) ?? []).filter((time) => time > now - second);
    const wait = recent.length < mostAnnouncements ? 0 : (recent[0] ?? now) + second - now;
    this.#times.set(name, [...recent, now + wait]);
    return wait;
  }

  later(name: string, wait: number, announce: () => void): void {
    this.#late.add(name);
    const timer = setTimeout(() => {
      this.#late.delete(name);
      announce();
    }, wait);
    timer.unref();
  }
}

/** The events of all processes, in PostgreSQL. */
export class PostgresEventFeed implements EventFeed {
  readonly #orm: MikroORM;
  readonly #log: Log;
  readonly #wakes = new EventEmitter<Record<string, []>>().setMaxListeners(0);
  readonly #announcements = new Announcements();
  readonly #closing = new AbortController();
  readonly closing = this.#closing.signal;

  constructor(orm: MikroORM, log: Log) {
    this.#orm = orm;
    this.#log = log;
  }

  async publish(...[em, subject, next]: Parameters<EventFeed['publish']>): Promise<void> {
    const { project_id, topic } = subject;
    const key = [project_id, topic];
    const now = new Date();
    await em.execute('insert into event_subject (project_id, topic, at) values (?, ?, ?) on conflict do nothing', [
      ...key,
      now,
    ]);
    const [row] = await em.execute<{ seq: string; last: unknown }[]>(
      'select seq, last from event_subject where project_id = ? and topic = ? for update',
      key,
    );
    const data = row && (await next(row.last));
    if (data === undefined) return;
    const text = JSON.stringify(data);
    await em.execute(
      `with subject as (
         update event_subject set seq = seq + 1, last = ?::json, at = ? where project_id = ? and topic = ? returning *)
       insert into event (project_id, topic, seq, at, data) select project_id, topic, seq, at, last from subject`,
      [text, now, ...key],
    );
    await this.announce(em, subject);
  }

  async append(...[em, news]: Parameters<EventFeed['append']>): Promise<void> {
    const present = news.filter(({ events }) => events.length > 0);
    if (present.length === 0) return;
    const now = new Date();
    const subjects = present.map(({ subject, events, isNew = false }) => {
      const name = nameOf(subject);
      const wait = isNew ? null : this.#announcements.wait(name);
      if (wait !== null && wait > 0) this.#announceLater(name, wait);
      return { ...subject, count: events.length, is_notified: wait === 0 };
    });
    const given = present.flatMap(({ subject, events }) =>
      events.map((data, index) => ({ ...subject, number: index + 1, data: JSON.stringify(data) })),
    );
    await executeBound(em, appendSql, [JSON.stringify(subjects), now, JSON.stringify(given)]);
  }

  async announce(em: Parameters<EventFeed['announce']>[0], subject: EventSubject): Promise<void> {
    const name = nameOf(subject);
    const wait = this.#announcements.wait(name);
    if (wait === null) return;
    const sql = `select pg_notify('${eventChannel}', ?)`;
    if (wait === 0) return void (await em.execute(sql, [name]));
    this.#announceLater(name, wait);
  }

  /** By then the transaction is usually over; otherwise subscribers find the event with their next poll. */
  #announceLater(name: string, wait: number): void {
    this.#announcements.later(name, wait, () => {
      if (this.closing.aborted) return;
      const failed = (err: unknown) => this.#log.debug({ err }, 'an event was not announced');
      this.#orm.em.fork().execute(`select pg_notify('${eventChannel}', ?)`, [name]).catch(failed);
    });
  }

  async read(...[em, { project_id, topic }, after]: Parameters<EventFeed['read']>): ReturnType<EventFeed['read']> {
    const key = [project_id, topic];
    const [subject] = await em.execute<{ seq: string }[]>(
      'select seq from event_subject where project_id = ? and topic = ?',
      key,
    );
    const last = Number(subject?.seq ?? 0);
    if (after === null || after === last) return { events: [], position: last, more: false, missed: false };
    const rows = await em.execute<{ seq: string; data: unknown }[]>(readSql, [...key, after, after + 1]);
    const events = rows.map(({ seq, data }) => ({ seq: Number(seq), data }));
    const end = events.at(-1)?.seq;
    if (end === undefined || events[0]?.seq !== after + 1)
      return { events: [], position: last, more: false, missed: true };
    return { events, position: end, more: end < last, missed: false };
  }

  watch(subject: EventSubject, wake: () => void): () => void {
    const name = nameOf(subject);
    this.#wakes.on(name, wake);
    return () => this.#wakes.off(name, wake);
  }

  /** Wakes the watchers of a subject: a notification of the database has named it. */
  notify(name: string): void {
    this.#wakes.emit(name);
  }

  close(): void {
    this.#closing.abort();
  }
}
