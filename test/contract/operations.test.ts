import { beforeAll, describe, expect, it } from 'vitest';
import { catalogue } from '../../src/domain/catalogue.ts';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { codeOf } from '../../src/graphql/errors.ts';
import { type Permission, permissionNames } from '../../src/kernel/actor.ts';
import { errorCodes } from '../../src/kernel/errors.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';
import { statusOf } from '../../src/rest/errors.ts';
import { routes } from '../../src/rest/routes.ts';
import { pathParameters, type Row } from '../../src/rest/table.ts';
import { type Answer, shared, startTestApp } from '../support/app.ts';
import { askRaw } from '../support/raw-http.ts';
import { exportedOperations } from '../support/rights.ts';

/** Operations without a URL of their own, each with why. */
const withoutRoute: Record<string, string> = {
  'backups.backupProject': 'command line only: it writes a directory of the server',
  'backups.checkProject': 'command line only: for those who run the server',
  'backups.findRemains': 'command line only: for those who run the server',
  'backups.readBackup': 'command line only: it reads a directory of the server',
  'backups.restoreBackup': 'command line only: it reads a directory of the server',
  'organizations.locateOrganization': 'GraphQL only: what lies below an organisation',
  'projects.findProject': 'GraphQL only: the project that a node_id names',
  'projects.locateProject': 'GraphQL only: what lies below a project',
  'crawlers.listCrawlerSummaries': 'GraphQL only: what is listed where no setting is selected',
  'crawlers.getCrawlerSummary': 'GraphQL only: what is read where no setting is selected',
  'crawlers.getPublishedSnapshots': 'GraphQL only: the live snapshots of many crawlers in one call',
  'crawlers.listSchedulesOf': 'GraphQL only: the schedules of many crawlers in one call',
  'crawlers.getRunProgress': 'GraphQL only: a subscription reads it; REST polls the run and its log',
  'crawlers.writeImport': 'background only: what an import that was asked for does',
  'identity.getMe': 'GraphQL only: what the dashboard asks of itself',
  'studio.listViews': "GraphQL only: the dashboard's saved views",
  'studio.saveView': "GraphQL only: the dashboard's saved views",
  'studio.deleteView': "GraphQL only: the dashboard's saved views",
  ...Object.fromEntries(
    [
      'getInstance',
      'setup',
      'signIn',
      'signOut',
      'confirmPassword',
      'acceptInvitation',
      'resetPassword',
      'changePassword',
      'updateAccount',
      'updatePreferences',
      'listSessions',
      'endSession',
      'endOtherSessions',
      'listIdentities',
      'unlinkIdentity',
    ].map((name) => [`identity.${name}`, 'GraphQL only: for a person in a browser']),
  ),
  'identity.signInWithProvider': 'at /auth/oidc/callback: where a provider sends a browser back to',
  'identity.linkIdentity': 'at /auth/oidc/callback: where a provider sends a browser back to',
  ...Object.fromEntries(
    ['listUsers', 'createUser', 'disableUser', 'createResetLink'].map((name) => [
      `identity.${name}`,
      'GraphQL and command line only: for administrators',
    ]),
  ),
  'assistant.getModel': 'GraphQL only: a setting of the dashboard',
  'assistant.updateModel': 'GraphQL only: a setting of the dashboard',
  'assistant.readEvents': 'GraphQL only: a subscription reads it',
  ...Object.fromEntries(
    [
      'approveTool',
      'createConversation',
      'deleteConversation',
      'getAssistant',
      'getConversation',
      'getTaskText',
      'listConversations',
      'listTasks',
      'rejectTool',
      'renameConversation',
      'sendMessage',
      'stop',
      'suggestText',
      'undoChange',
    ].map((name) => [`assistant.${name}`, 'GraphQL only: a conversation is of a person in the dashboard']),
  ),
  'studio.findEntryByUrl': 'GraphQL only: an edge of the content; REST lists entries with their addresses',
  'studio.locateEntry': 'what tools name when they wait for consent',
  'studio.locateFile': 'what tools name when they wait for consent',
  'studio.getBranches': 'GraphQL only: the branches of many edges in one call',
  'studio.getCollection': 'GraphQL only: one collection of a graph; REST has the list',
  'studio.locateCollection': 'GraphQL only: what lies below a collection',
  'studio.getCommits': 'GraphQL only: the commits of many edges in one call',
  'studio.listEntryMedia': 'GraphQL only: the files of many entries in one call',
  'studio.listPullCommits': 'GraphQL only: an edge of a pull request; REST has compare',
  'studio.listDeploymentsOfBranches':
    'GraphQL only: the deployments of many branches in one call; REST filters the list',
  'studio.listPullsOfBranches': 'GraphQL only: the pull requests of many branches in one call; REST filters the list',
  'studio.listReferences': 'GraphQL only: the relations of many entries in one call',
  'studio.listReferrers': 'GraphQL only: an edge of an entry; REST names referrers when it refuses a deletion',
  'studio.listReferrersOfEntries': 'GraphQL only: the referrers of many entries in one call',
  'studio.listRoutePatterns': 'GraphQL only: what is saved; REST has it with the repository',
  'studio.listTranslations': 'GraphQL only: the translations of many entries in one call',
  'studio.revertMedia': 'GraphQL only: REST names a file by its path in POST /revert',
  'studio.readBranchMoves': 'GraphQL only: a subscription reads it',
  'studio.readBranchRules': 'what tools hold their targets against',
  'studio.readChanges': 'GraphQL only: a subscription reads it',
  'studio.getDeployments': 'GraphQL only: the deployments of many edges in one call',
  'studio.listDeploymentSummaries': 'GraphQL only: what is listed where no jobs are selected',
  'studio.listEnvironmentSummaries': 'GraphQL only: what is listed where no variables are selected',
  'studio.getEnvironmentSummary': 'GraphQL only: what is read where no variables are selected',
  'studio.getEnvironments': 'GraphQL only: the environments of many edges in one call',
  'studio.listDeploymentLog': 'GraphQL only: pages of a log; REST reads it from an offset',
  'crawlers.listRunLogLines': 'GraphQL only: pages of a log; REST reads it from a position',
  'workflows.getExecutions': 'GraphQL only: the executions of many edges in one call',
  'workflows.getWebhookDeliveries': 'GraphQL only: the deliveries of many edges in one call',
  'workflows.listExecutionLog': 'GraphQL only: pages of a log; REST reads it from a position',
  'studio.readDeploymentLog': 'GraphQL only: a subscription reads it; REST reads it from an offset',
  'studio.readImport': 'GraphQL only: a subscription reads it; REST has it with the repository',
  'workflows.readExecutionEvents': 'GraphQL only: a subscription reads it',
  'studio.searchEntries': 'GraphQL only: over all collections; REST searches each by q',
  'studio.fetchRepository': 'git only: the right behind git clone and git fetch',
  'studio.preparePush': 'git only: what git push asks first',
  'studio.pushRepository': 'git only: the right behind git push',
};

// Every row is requested with a wrong credential.
const app = shared(() => startTestApp({ PORTICO_AUTH_FAILURE_LIMIT: '100000' }));
let strange: string;
let elsewhere: string;
/** With every permission, confined to the projects of all rows. */
let confined: string;
const single = new Map<Permission, string>();

beforeAll(async () => {
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
  strange = await app.makeToken(permissionNames, { organization: 'other' });
  elsewhere = await app.makeToken(permissionNames, { projects: ['site'] });
  for (const name of permissionNames) single.set(name, await app.makeToken([name]));
  // A project of its own for each row: some rows delete what they are given.
  for (const at of routes.keys())
    await app.run(createProject, { organization: 'acme', name: `P ${at}`, machine_name: `p${at}` });
  confined = await app.makeToken(permissionNames, { projects: [...routes.keys()].map((at) => `p${at}`) });
});

const named = routes.map((row, at) => ({ at, row, title: `${row.method.toUpperCase()} ${row.path}` }));

function ask(row: Row, at: number, token: string | null): Promise<Answer> {
  const values: Record<string, string> = { organization: 'acme', project: `p${at}` };
  let url = row.path;
  for (const name of pathParameters(url)) url = url.replace(new RegExp(`[:*]${name}`), values[name] ?? '999999');
  return askRaw(app, row.method.toUpperCase(), url, { token, ...(row.method !== 'get' && { body: '{}' }) });
}

/** What a caller with one permission must get, from the operation's declaration alone. */
const allows = ({ permission }: AnyOperation, held: Permission) =>
  permission === held ||
  permission === 'signed_in' ||
  permission === 'public' ||
  // Beside the token of the run itself.
  (permission === 'run_token' && held === 'manage_studio');

describe.each(named)('$title', ({ row, at }) => {
  it('401 without a credential, 401 with a wrong one', async () => {
    for (const token of [null, 'ptc_abcdefghijklmnopqrstuvwxyz01233PHGXn']) {
      const { status, body } = await ask(row, at, token);
      expect({ status, code: body.code }).toEqual({ status: 401, code: 'unauthenticated' });
    }
  });

  if (row.operation.scope !== 'public')
    it('403 to a token of another organisation', async () => {
      expect((await ask(row, at, strange)).status).toBe(403);
    });

  if (row.operation.scope === 'project')
    it('403 to a token confined to another project', async () => {
      expect((await ask(row, at, elsewhere)).status).toBe(403);
    });

  if (row.operation.scope === 'organization')
    it('403 to a token confined to projects, unless it keeps to them', async () => {
      const { status, body } = await ask(row, at, confined);
      if (row.operation.confined === 'own_projects') expect(status).not.toBe(403);
      else
        expect({ status, code: body.code, message: body.message }).toEqual({
          status: 403,
          code: 'forbidden',
          message:
            row.operation.permission === 'owner'
              ? 'Only an Owner of the organisation may do this'
              : expect.stringMatching(
                  /^This credential is confined to projects; .* needs a credential for all of its projects$/,
                ),
        });
    });

  if (row.signedBy !== undefined) {
    it('401 to every token: only its signature counts', async () => {
      for (const name of permissionNames) expect((await ask(row, at, single.get(name) ?? '')).status).toBe(401);
    });
    return;
  }

  it('403 to every permission but its own', async () => {
    const refused: string[] = [];
    for (const name of permissionNames) {
      // The one that is allowed comes last: it may end what the row is about.
      if (allows(row.operation, name)) continue;
      const { status, body } = await ask(row, at, single.get(name) ?? '');
      expect({ name, status, code: body.code }).toEqual({ name, status: 403, code: 'forbidden' });
      refused.push(name);
    }
    for (const name of permissionNames.filter((held) => allows(row.operation, held))) {
      const { status, body } = await ask(row, at, single.get(name) ?? '');
      expect(status, `with ${name}`).not.toBe(401);
      expect(status, `with ${name}`).toBeLessThan(500);
      // A further permission this input needs: one that the operation declares, and says so.
      const further = Object.keys(row.operation.also ?? {}).map((also) => `Missing permission: ${also}`);
      if (status === 403) expect(further, `with ${name}`).toContain(body.message);
    }
    expect(refused.length).toBeGreaterThanOrEqual(row.operation.permission === 'signed_in' ? 0 : 13);
  });
});

describe('every operation', () => {
  it('is reached by a URL, or is known to have none', async () => {
    const reached = new Set(routes.map((row) => row.operation.name));
    const operations = await exportedOperations();
    expect(operations.length).toBeGreaterThan(20);
    const unreached = operations.map((operation) => operation.name).filter((name) => !reached.has(name));
    expect(unreached.sort()).toEqual(Object.keys(withoutRoute).sort());
  });

  it('is in the catalogue, once', async () => {
    const names = (await exportedOperations()).map((operation) => operation.name);
    expect(catalogue.map(({ name }) => name).sort()).toEqual(names.sort());
  });

  it('looks up the crawler it names before its input is refused', () => {
    const named = catalogue.filter(({ input }) => Object.hasOwn(input.shape, 'crawler'));
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter(({ find }) => find === undefined).map(({ name }) => name)).toEqual([]);
  });

  it('has a name of its own', async () => {
    const names = (await exportedOperations()).map((operation) => operation.name);
    expect(names).toEqual([...new Set(names)]);
    for (const name of names) expect(name).toMatch(/^[a-z]+\.[a-z][A-Za-z]+$/);
  });

  it('reads nothing twice from a URL: a path names each parameter once, and no URL has two rows', () => {
    const keys = routes.map((row) => `${row.method} ${row.path}`);
    expect(keys).toEqual([...new Set(keys)]);
    for (const row of routes) expect(pathParameters(row.path)).toEqual([...new Set(pathParameters(row.path))]);
  });

  it('is not hidden behind a greedy segment', () => {
    for (const row of routes) expect(row.path).not.toMatch(/\*[a-z_]+\//);
  });

  it('documents the parameters of its path', () => {
    for (const row of routes) {
      const known = new Set(['organization', 'project', ...Object.keys(row.operation.input.shape)]);
      expect(pathParameters(row.path).filter((name) => !known.has(name))).toEqual([]);
    }
  });
});

describe('every error code', () => {
  it('has a status in REST and a word in GraphQL', () => {
    expect(Object.keys(statusOf).sort()).toEqual([...errorCodes].sort());
    expect(Object.keys(codeOf).sort()).toEqual([...errorCodes].sort());
    for (const status of Object.values(statusOf)) expect([4, 5]).toContain(Math.floor(status / 100));
  });
});
