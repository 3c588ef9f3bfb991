import { expect, test } from 'vitest';
import { type Browser, goodPassword, openBrowser, secretOf } from '../support/browser.ts';
import { portico, readFirstRun, settingsFor } from '../support/server-process.ts';
import { twoServers } from '../support/two-servers.ts';

const email = 'ada@example.org';

/** How a mutation ended: `ok`, or the reason it was refused. */
async function outcome(browser: Browser, mutation: string, input: object): Promise<string> {
  const { body } = await browser.graphql(mutation, { input });
  return body.errors?.[0].extensions.reason ?? 'ok';
}

const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { user { id } } }';
const setUp = 'mutation ($input: SetupInput!) { setup(input: $input) { user { id } } }';
const reset = 'mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) { user { id } } }';
const accept = 'mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) { user { id } } }';
const invite =
  'mutation ($input: InviteMemberInput!) { inviteMember(organization: "demo", input: $input) { join_url } }';

/** The reasons of a mutation sent to both servers at the same time, so many times to each, in order. */
async function atBoth(servers: readonly { url: string }[], times: number, mutation: string, input: object) {
  const browsers = Array.from({ length: times }, () => servers.map((server) => openBrowser(server))).flat();
  return (await Promise.all(browsers.map((browser) => outcome(browser, mutation, input)))).sort();
}

test('ten guesses in all are compared, and links open once, whichever of two servers they reach', async () => {
  const { url, one, other } = await twoServers();
  const servers = [one, other];
  const first = { email, name: 'Ada', password: goodPassword, organization_name: 'Acme', keep_demo: true };
  const { setup_url = '' } = await readFirstRun(one.dataDir);
  expect(await atBoth(servers, 2, setUp, { ...first, secret: secretOf(setup_url) })).toEqual([
    'conflict',
    'conflict',
    'conflict',
    'ok',
  ]);

  const { stdout } = await portico(['users', 'reset', email], settingsFor(one.dataDir, { DATABASE_URL: url }));
  const renewed = { secret: secretOf(stdout.trim()), password: `${goodPassword} again` };
  expect(await atBoth(servers, 2, reset, renewed)).toEqual(['forbidden', 'forbidden', 'forbidden', 'ok']);

  const owner = openBrowser(one);
  expect(await outcome(owner, signIn, { email, password: renewed.password })).toBe('ok');
  const { body } = await owner.graphql(invite, { input: { email: 'bo@example.org', role: 'editor' } });
  const joining = { secret: secretOf(body.data.inviteMember.join_url), name: 'Bo', password: goodPassword };
  expect(await atBoth(servers, 2, accept, joining)).toEqual(['forbidden', 'forbidden', 'forbidden', 'ok']);

  const guesses = await atBoth(servers, 15, signIn, { email, password: 'not the password' });
  expect(guesses).toEqual([...Array(20).fill('rate_limited'), ...Array(10).fill('unauthenticated')]);
  for (const server of servers)
    expect(await outcome(openBrowser(server), signIn, { email, password: renewed.password })).toBe('rate_limited');
});
