import { beforeAll, describe, expect, it } from 'vitest';
import { type OperationStep, runOperationStep } from '../../../../src/domain/workflows/steps/operation.ts';
import type { Permission } from '../../../../src/kernel/actor.ts';
import { seed, shared, startTestApp, studio } from '../../../support/app.ts';
import { makeExecution, stepCall } from './support.ts';

const app = shared(startTestApp);
const ids = shared(() => makeExecution(app));
beforeAll(() => seed(app, { 'content/posts/first.md': '---\ntitle: First\n---\nText\n' }));

const all: Permission[] = ['browse_studio', 'edit_studio', 'delete_studio', 'manage_studio'];
let count = 0;
/** Runs an operation; of one key when `id` is given again. */
const run = async (operation: string, input: object, { id = `s${count++}`, permissions = all } = {}) => {
  const step = { id, type: 'operation', operation, with: input } as OperationStep;
  return runOperationStep(await stepCall(app, ids, step, { permissions }));
};
const effects = async () => app.services.orm.em.fork().execute('select state, result from effect order by created_at');
/** What a crash leaves: the call has begun, and it is unknown whether it has done anything. */
const forget = () => app.services.orm.em.fork().execute(`update effect set state = 'started', result = null`);

it('acts in the name of the workflow, with templates filled', async () => {
  const result = await run('studio.createEntry', {
    collection: 'posts',
    slug: 'post-${{ input.body.n }}',
    frontmatter: { title: '${{ input.body.title }}' },
    body: 'By a workflow',
  });
  expect(result).toMatchObject({ kind: 'completed', output: { slug: 'post-7' }, input: { slug: 'post-7' } });
  const [commit] = (await app.ask('GET', `${studio}/commits`)).body;
  expect(commit.author.name).toBe('Portico workflow');
  expect((await app.ask('GET', `${studio}/collections/posts/post-7`)).body.frontmatter).toEqual({ title: 'Hello' });
});

describe('does no more than its version may', () => {
  it('a permission it lacks', async () => {
    expect(await run('studio.createBranch', { name: 'nope' }, { permissions: ['browse_studio'] })).toMatchObject({
      kind: 'failed',
      error: { code: 'forbidden' },
      isRetryable: false,
    });
  });

  it.each([
    'identity.createToken',
    'workflows.createWorkflow',
    'workflows.putWorkflowSecret',
    'studio.uploadMedia',
    'nothing',
  ])('%s is not for workflows', async (name) => {
    expect(await run(name, {})).toMatchObject({ kind: 'failed', error: { code: 'unknown_operation' } });
  });

  it('another project is none of its business, whatever its input says', async () => {
    const result = await run('studio.listBranches', { project: 'other', organization: 'other' });
    expect(result).toMatchObject({ kind: 'completed', output: { items: expect.any(Array) } });
  });
});

it('input the operation refuses is a failure with its fields', async () => {
  expect(await run('studio.createBranch', { name: 5 })).toMatchObject({
    kind: 'failed',
    error: { code: 'invalid_request', errors: [{ field: '/name' }] },
    isRetryable: false,
  });
});

describe('a repeat under its key', () => {
  it('of what is done gives the first result, and does nothing again', async () => {
    const first = await run('studio.createBranch', { name: 'once' }, { id: 'once' });
    const again = await run('studio.createBranch', { name: 'once' }, { id: 'once' });
    expect(first.kind).toBe('completed');
    expect(again).toEqual(first);
  });

  it.each([
    ['studio.createBranch', { name: 'cut' }, { name: 'cut' }],
    [
      'studio.createEntry',
      { collection: 'posts', slug: 'cut', frontmatter: { title: 'Cut' }, body: 'Text\n' },
      { slug: 'cut' },
    ],
  ])('of %s whose answer was lost finds what it made', async (operation, input, output) => {
    expect(await run(operation, input, { id: 'cut' })).toMatchObject({ kind: 'completed' });
    await forget();
    expect(await run(operation, input, { id: 'cut' })).toMatchObject({ kind: 'completed', output });
    await app.services.orm.em.fork().execute('delete from effect');
  });

  it('of createPull finds the pull request', async () => {
    await run('studio.createBranch', { name: 'feature' });
    await run('studio.createEntry', { collection: 'posts', slug: 'on-feature', branch: 'feature' });
    const pull = { title: 'It', head: 'feature', base: 'main' };
    const first = await run('studio.createPull', pull, { id: 'pull' });
    await forget();
    const again = await run('studio.createPull', pull, { id: 'pull' });
    expect(first).toMatchObject({ kind: 'completed', output: { number: 1 } });
    expect(again).toMatchObject({ kind: 'completed', output: { number: 1 } });
    expect((await app.ask('GET', `${studio}/pulls`)).body).toHaveLength(1);
    await app.services.orm.em.fork().execute('delete from effect');
  });

  it('of deleteEntry whose answer was lost finds it done', async () => {
    const gone = { collection: 'posts', entry: 'first' };
    expect(await run('studio.deleteEntry', gone, { id: 'gone' })).toMatchObject({ kind: 'completed' });
    await forget();
    expect(await run('studio.deleteEntry', gone, { id: 'gone' })).toMatchObject({ kind: 'completed' });
    await app.services.orm.em.fork().execute('delete from effect');
  });

  it('one of another caller is still a conflict', async () => {
    await app.ask('POST', `${studio}/branches`, { body: { name: 'theirs' } });
    expect(await run('studio.createBranch', { name: 'theirs' }, { id: 'theirs' })).toMatchObject({
      kind: 'failed',
      error: { code: 'already_exists' },
    });
    expect(
      await run('studio.createEntry', { collection: 'posts', slug: 'post-7', body: 'Other' }, { id: 'other' }),
    ).toMatchObject({
      kind: 'failed',
      error: { code: 'already_exists' },
    });
    expect(await effects()).toEqual([]);
  });
});

it('a command of the database keeps its result in its own transaction', async () => {
  const result = await run(
    'crawlers.createCrawler',
    { domain: 'https://docs.example.com' },
    { id: 'crawler', permissions: ['edit_crawlers'] },
  );
  expect(result).toMatchObject({ kind: 'completed' });
  expect(await effects()).toMatchObject([{ state: 'done', result: { domain: 'https://docs.example.com' } }]);
});

it('keeps no secret that an operation shows once to its caller, neither in the output nor for a repeat', async () => {
  const input = {
    name: 'Elsewhere',
    branch: 'main',
    provider: 'webhook',
    deploy_webhook_url: 'https://example.com/deploy',
    deploy: false,
  };
  const made = await run('studio.createEnvironment', input, { id: 'secret' });
  expect(made).toMatchObject({ kind: 'completed', output: { name: 'Elsewhere', deploy_hook_secret: null } });
  expect(JSON.stringify(await effects())).not.toContain('whsec_');
  expect(await run('studio.createEnvironment', input, { id: 'secret' })).toEqual(made);
});
