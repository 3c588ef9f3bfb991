import { Member } from '../../src/domain/organizations/member.entity.ts';
import { Organization } from '../../src/domain/organizations/organization.entity.ts';
import { hashPassword } from '../../src/domain/users/passwords.ts';
import { startSession } from '../../src/domain/users/sessions.ts';
import { User } from '../../src/domain/users/user.entity.ts';
import type { Preset } from '../../src/kernel/actor.ts';
import type { Answer, TestApp } from './app.ts';

type App = Pick<TestApp, 'url' | 'services'>;

/** A browser as far as credentials go: it keeps the session's cookie, and says that its requests come from the service's own pages. */
export interface Browser {
  /** `name=value` of the session; null when signed out. */
  cookie: string | null;
  /** The last `Set-Cookie` as it came. */
  setCookie: string | null;
  ask(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string> }): Promise<Answer>;
  graphql(query: string, variables?: object, headers?: Record<string, string>): Promise<Answer>;
}

export function openBrowser({ url }: Pick<TestApp, 'url'>, cookie: string | null = null): Browser {
  const browser: Browser = {
    cookie,
    setCookie: null,
    async ask(method, path, { body, headers = {} } = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          'Sec-Fetch-Site': 'same-origin',
          'User-Agent': 'Test browser',
          ...(browser.cookie !== null && { Cookie: browser.cookie }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const set = response.headers.get('set-cookie');
      if (set !== null) {
        const [pair = ''] = set.split(';');
        browser.setCookie = set;
        browser.cookie = pair.endsWith('=') ? null : pair;
      }
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
    },
    graphql: (query, variables = {}, headers = {}) =>
      browser.ask('POST', '/graphql', { body: { query, variables }, headers }),
  };
  return browser;
}

/** A password that is good for an account. */
export const goodPassword = 'correct horse battery';
/** Stored quickly: the cost does not matter to what a test is about. */
const cheap = { ln: 4, r: 8, p: 1 };

interface Person {
  email: string;
  role?: Preset;
  organization?: string;
  instance_admin?: boolean;
  /** Stored at today's cost. */
  strong?: true;
}

/** Makes a person's account, and a member of an organisation where a role is given. @returns its id */
export async function makePerson({ services }: App, person: Person): Promise<number> {
  const { email, role, organization = 'acme', instance_admin = false, strong } = person;
  const em = services.orm.em.fork();
  const created_at = services.clock.now();
  const password = await hashPassword(goodPassword, strong ? undefined : cheap);
  const name = email.split('@')[0] ?? email;
  const id = await em.insert(User, { email, name, password, instance_admin, preferences: {}, created_at });
  if (role !== undefined) {
    const { id: organization_id } = await em.findOneOrFail(Organization, { machine_name: organization });
    const joined = { created_at, joined_at: created_at };
    await em.insert(Member, { organization_id, user_id: id, role, permissions: [], projects: null, ...joined });
  }
  return id;
}

/** A browser in which a person is signed in. */
export async function signedIn(app: App, user_id: number): Promise<Browser> {
  const browser = openBrowser(app);
  const em = app.services.orm.em.fork();
  const person = await em.findOneOrFail(User, { id: user_id });
  const start = (fork: typeof em) =>
    startSession(
      {
        actor: null,
        em: fork,
        services: app.services,
        address: '127.0.0.1',
        browser: { user_agent: 'Test browser', same_origin: true },
        setSession: (text) => {
          browser.cookie = `portico=${text}`;
        },
      },
      person,
    );
  await em.transactional(start);
  return browser;
}

/** A browser of the first account, Hazel's, whom the printed link of a new server lets in; the demo is hers too. */
export async function setUp(app: Pick<TestApp, 'url'>, link: string): Promise<Browser> {
  const browser = openBrowser(app);
  const account = { name: 'Hazel', email: 'hazel@example.org', password: goodPassword };
  const input = { secret: secretOf(link), ...account, organization_name: 'Acme', keep_demo: true };
  const mutation = 'mutation ($input: SetupInput!) { setup(input: $input) { user { id } } }';
  const { body } = await browser.graphql(mutation, { input });
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return browser;
}

/** The secret of a link such as `http://portico.test/join#…`. */
export const secretOf = (url: string): string => url.slice(url.indexOf('#') + 1);
