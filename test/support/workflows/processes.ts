import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { createDatabase } from '../postgres.ts';
import { newDataDir, portico, type ServerProcess, settingsFor, startServer } from '../server-process.ts';

const workflows = '/api/v2/organizations/demo/projects/site/workflows';

/** Asks until an answer fits. @throws when none has in so many seconds */
export async function until<T>(ask: () => Promise<T> | T, fits: (answer: T) => boolean, seconds: number): Promise<T> {
  for (const end = Date.now() + seconds * 1000; ; ) {
    const answer = await ask();
    if (fits(answer)) return answer;
    if (Date.now() > end) throw new Error(`Not in ${seconds} s: ${JSON.stringify(answer)}`);
    await setTimeout(50);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
type Ask = (server: { url: string }, method: string, at: string, body?: object) => Promise<any>;

/** Processes on one database and one data directory, each in its roles, and a way to ask of their workflows. */
export interface Processes {
  /** Of the database they share. */
  databaseUrl: string;
  /** Starts one; the first has to be a web server. */
  start(roles: string): Promise<ServerProcess>;
  /** Asks below `…/workflows`. @throws for a refusal */
  ask: Ask;
  token: string;
}

export async function startProcesses(
  settings: Record<string, string> = {},
): Promise<Processes & { web: ServerProcess }> {
  const { url: databaseUrl, drop } = await createDatabase();
  onTestFinished(drop);
  const dataDir = await newDataDir();
  const more = { DATABASE_URL: databaseUrl, PORTICO_ALLOWED_CIDRS: '127.0.0.0/8', ...settings };
  const start = (roles: string) => startServer(dataDir, { ...more, PORTICO_ROLES: roles });
  const web = await start('web');
  const made = await portico(
    ['token', 'create', '--organization', 'demo', '--preset', 'admin'],
    settingsFor(dataDir, more),
  );
  const token = made.stdout.trim();
  const ask: Ask = async ({ url }, method, at, body) => {
    const response = await fetch(`${url}${workflows}${at}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
  return { databaseUrl, start, ask, token, web };
}

/** A workflow that calls a peer three times, one after the other. */
export const threeCalls = (url: string) => ({
  portico: 'workflow/1',
  steps: ['a', 'b', 'c'].map((id) => ({ id, type: 'http', method: 'POST', url: `${url}/${id}` })),
});

/** Asks the database the processes share. */
export async function query<T extends object>(
  { databaseUrl }: Processes,
  sql: string,
  values: unknown[] = [],
): Promise<T[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  return (await client.query(sql, values).finally(() => client.end())).rows;
}

/** Executions of one workflow, begun at a web server and executed by workers that come and go. */
export async function executionsOf(processes: Processes & { web: ServerProcess }, definition: object) {
  const { web, ask } = processes;
  const { id: workflow } = await ask(web, 'POST', '', { name: 'Calls', definition });
  const at = `/${workflow}/executions`;
  const look = (ids: readonly string[]) => Promise.all(ids.map((id) => ask(web, 'GET', `${at}/${id}`)));
  return {
    look,
    async begin(count: number) {
      const ids: string[] = [];
      for (let begun = 0; begun < count; begun += 1) ids.push((await ask(web, 'POST', at, {})).execution_id as string);
      return ids;
    },
    settled: (ids: readonly string[], seconds: number) =>
      until(
        () => look(ids),
        (all) => all.every(({ status }) => status === 'completed' || status === 'failed'),
        seconds,
      ),
    async events(id: string): Promise<string[]> {
      const events = await ask(web, 'GET', `${at}/${id}/events`);
      return events.map(({ type, path }: { type: string; path: string | null }) => `${type} ${path}`);
    },
  };
}
