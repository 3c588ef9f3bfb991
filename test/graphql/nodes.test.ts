import { GraphQLObjectType, isNonNullType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { buildGraphqlSchema } from '../../src/graphql/schema.ts';
import { shared } from '../support/app.ts';
import { makeCrawler, makeSnapshot } from '../support/crawlers/snapshots.ts';
import { save } from '../support/git-store.ts';
import { graphqlApp } from '../support/graphql-app.ts';
import { exportedOperations } from '../support/rights.ts';
import { siteFiles } from '../support/site-files.ts';

const at = 'organization: "acme", project: "site"';

const app = shared(graphqlApp);

beforeAll(async () => {
  await save(await app.repository(), siteFiles);
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
  await app.run(createProject, { organization: 'acme', name: 'Away' });
  const crawler = await makeCrawler(app);
  await makeSnapshot(app, crawler.id, { '/': 'home' });
});

const read = async (selection: string) => (await app.data(`{ project(${at}) { ${selection} } }`)).project;

const nodeOf = (id: string, by = app.full, fields = '') =>
  app.query(`query($id: ID!) { node(id: $id) { __typename node_id ${fields} } }`, {
    token: by,
    variables: { id },
  });

const encoded = (parts: unknown) => Buffer.from(JSON.stringify(parts)).toString('base64url');
const decoded = (id: string) => JSON.parse(Buffer.from(id, 'base64url').toString('utf8'));

const isNode = (type: unknown): type is GraphQLObjectType =>
  type instanceof GraphQLObjectType && type.getInterfaces().some(({ name }) => name === 'Node');
const nodes = Object.values(buildGraphqlSchema().getTypeMap()).filter(isNode);

describe('Node', () => {
  it('is what these types are', () => {
    expect(nodes.map(({ name }) => name).sort()).toEqual([
      'Branch',
      'Collection',
      'Crawler',
      'CrawlerRun',
      'CrawlerSchedule',
      'CrawlerVerification',
      'Deployment',
      'Entry',
      'Environment',
      'Execution',
      'File',
      'NotificationDelivery',
      'Organization',
      'Project',
      'Pull',
      'Repository',
      'Schema',
      'Snapshot',
      'SnapshotImport',
      'Workflow',
      'WorkflowDelivery',
      'WorkflowTrigger',
      'WorkflowVersion',
    ]);
  });

  it('is what an operation reads one of, but for these', async () => {
    const reads = (await exportedOperations()).filter(({ name }) => /\.get[A-Z]/.test(name));
    const names = new Set(nodes.map(({ name }) => name));
    const without = reads.filter(
      ({ output }) => !names.has(output.meta()?.id === 'ProjectRecord' ? 'Project' : output.meta()?.id),
    );
    expect(without.map(({ name }) => name).sort()).toEqual([
      // The state of the server, what is only its person's, a setting, and a text.
      'assistant.getAssistant',
      'assistant.getConversation',
      'assistant.getModel',
      'assistant.getTaskText',
      // A part of a Node.
      'crawlers.getCrawlerSummary',
      // Many in one call.
      'crawlers.getPublishedSnapshots',
      // Progress of a run, which is a Node.
      'crawlers.getRunProgress',
      // The server, and the caller.
      'identity.getInstance',
      'identity.getMe',
      // Many in one call.
      'studio.getBranches',
      'studio.getCommits',
      // A link that is good for one use.
      'studio.getDeploymentEditor',
      // A piece of text.
      'studio.getDeploymentLog',
      // A link that is good for one use.
      'studio.getDeploymentPreview',
      // Many in one call.
      'studio.getDeployments',
      // A link that is good for one use.
      'studio.getEnvironmentPreview',
      // A part of a Node.
      'studio.getEnvironmentSummary',
      // Many in one call.
      'studio.getEnvironments',
      // A view of the repository, cut by its arguments.
      'studio.getFiletree',
      // Many in one call.
      'workflows.getExecutions',
      'workflows.getWebhookDeliveries',
    ]);
  });

  it('always has its id', () => {
    for (const type of nodes) expect(isNonNullType(type.getFields().node_id?.type)).toBe(true);
  });
});

describe('node', () => {
  it('reads again what an id was read from', async () => {
    const project = await read(`
      node_id
      studio {
        repository { node_id }
        branch(name: "main") { node_id }
        entry(collection: "posts", slug: "en/alpha", branch: "main") { node_id collection { node_id } schema { node_id } }
        file(path: "public/logo.svg") { node_id }
      }
      crawlers { nodes { node_id runs { nodes { node_id } } snapshots { nodes { node_id } } } }`);
    const { repository, branch, entry, file } = project.studio;
    const [crawler] = project.crawlers.nodes;
    const found = {
      Project: project.node_id,
      Repository: repository.node_id,
      Branch: branch.node_id,
      Entry: entry.node_id,
      Collection: entry.collection.node_id,
      Schema: entry.schema.node_id,
      File: file.node_id,
      Crawler: crawler.node_id,
      CrawlerRun: crawler.runs.nodes[0].node_id,
      Snapshot: crawler.snapshots.nodes[0].node_id,
    };
    for (const [type, id] of Object.entries(found)) {
      const { body } = await nodeOf(id);
      expect(body).toEqual({ data: { node: { __typename: type, node_id: id } } });
    }
  });

  it('reads an organisation', async () => {
    const { body } = await app.query('{ organization(organization: "acme") { node_id } }');
    const id = body.data.organization.node_id;
    const answer = await nodeOf(id, app.full, '... on Organization { machine_name projects { nodes { name } } }');
    expect(answer.body.data.node).toMatchObject({ machine_name: 'acme', projects: { nodes: expect.any(Array) } });
  });

  it('names content by collection, slug and the branch or commit', async () => {
    const { studio } = await read(
      'studio { entry(collection: "posts", slug: "en/alpha", branch: "main") { node_id title } }',
    );
    expect(decoded(studio.entry.node_id)).toEqual([
      'Entry',
      expect.any(String),
      'posts',
      'en/alpha',
      { branch: 'main' },
    ]);
    const answer = await nodeOf(studio.entry.node_id, app.full, '... on Entry { title media { path } }');
    expect(answer.body.data.node).toMatchObject({ title: studio.entry.title, media: expect.any(Array) });
  });

  it('is null with NOT_FOUND for what is malformed, unknown or foreign', async () => {
    const { node_id } = await read('node_id');
    const [, uuid] = decoded(node_id);
    const foreign = await app.token('other');
    const confined = await app.token('acme', undefined, ['away']);
    const refused: [id: string, by: string][] = [
      ...['', 'none', '{}', encoded(null), encoded({}), encoded(['Nothing', uuid]), encoded(['Project', 1])].map(
        (id): [string, string] => [id, app.full],
      ),
      [encoded(['Project', 'nothing']), app.full],
      [encoded(['Project', '00000000-0000-4000-8000-000000000000']), app.full],
      [encoded(['Deployment', uuid]), app.full],
      [encoded(['Deployment', uuid, 999]), app.full],
      [encoded(['Deployment', uuid, 'x']), app.full],
      [encoded(['Deployment', uuid, 1, {}, 1]), app.full],
      [encoded(['Entry', uuid, 'posts', 'none', { branch: 'main' }]), app.full],
      [encoded(['Entry', uuid, 'posts', 'en/alpha', { branch: 'none' }]), app.full],
      [encoded(['Organization', null, 'none']), app.full],
      [encoded(['Organization', null, 'acme']), foreign],
      [node_id, foreign],
      [node_id, confined],
    ];
    for (const [id, by] of refused) {
      const { body } = await nodeOf(id, by);
      expect({ id, ...body }).toMatchObject({
        id,
        data: { node: null },
        errors: [{ message: 'Node not found', path: ['node'], extensions: { code: 'NOT_FOUND', reason: 'not_found' } }],
      });
    }
  });

  it('needs the right to read the record', async () => {
    const { node_id } = await read('node_id');
    const { body } = await nodeOf(node_id, await app.token('acme', ['browse_studio']));
    expect(body).toMatchObject({
      data: { node: null },
      errors: [{ message: 'Missing permission: browse_organization', extensions: { code: 'FORBIDDEN' } }],
    });
  });
});

describe('an organisation or project', () => {
  const ask = (document: string, by = app.full) => app.query(document, { token: by });

  it('that is unknown is null, with one NOT_FOUND at its own path', async () => {
    const organization = await ask('{ organization(organization: "none") { name audit { total_count } } }');
    expect(organization.body.data).toEqual({ organization: null });
    expect(organization.body.errors).toMatchObject([
      { message: 'Organisation not found', path: ['organization'], extensions: { code: 'NOT_FOUND' } },
    ]);
    const project = await ask(
      '{ project(organization: "acme", project: "none") { name studio { branches { total_count } } } }',
    );
    expect(project.body.data).toEqual({ project: null });
    expect(project.body.errors).toMatchObject([
      { message: 'Project not found', path: ['project'], extensions: { code: 'NOT_FOUND' } },
    ]);
  });

  it('that is foreign is null, with FORBIDDEN', async () => {
    const foreign = await app.token('other');
    for (const [name, document] of [
      ['organization', '{ organization(organization: "acme") { name } }'],
      ['project', `{ project(${at}) { name } }`],
    ] as const) {
      const { body } = await ask(document, foreign);
      expect(body.data).toEqual({ [name]: null });
      expect(body.errors).toMatchObject([{ path: [name], extensions: { code: 'FORBIDDEN' } }]);
    }
  });

  it('is found with any grant there, and each field asks for its own', async () => {
    const studioOnly = await app.token('acme', ['browse_studio']);
    const { body } = await ask(`{ project(${at}) { name studio { branches { total_count } } } }`, studioOnly);
    expect(body.data).toEqual({ project: { name: null, studio: { branches: { total_count: 1 } } } });
    expect(body.errors).toMatchObject([{ path: ['project', 'name'], extensions: { code: 'FORBIDDEN' } }]);
  });
});
