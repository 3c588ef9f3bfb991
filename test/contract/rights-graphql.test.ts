import {
  type GraphQLArgument,
  GraphQLEnumType,
  type GraphQLField,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  getNamedType,
  isLeafType,
} from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { createOrganization } from '../../src/domain/organizations/organizations.operations.ts';
import { createProject } from '../../src/domain/projects/projects.operations.ts';
import { buildGraphqlSchema } from '../../src/graphql/schema.ts';
import type { AnyOperation } from '../../src/kernel/operation.ts';
import { shared } from '../support/app.ts';
import { makeCrawler, makeSnapshot } from '../support/crawlers/snapshots.ts';
import { save } from '../support/git-store.ts';
import { graphqlApp } from '../support/graphql-app.ts';
import { type Caller, callers, exportedOperations, furtherRefusals, refusalOf } from '../support/rights.ts';
import { siteFiles } from '../support/site-files.ts';

const schema = buildGraphqlSchema();
const byName = new Map((await exportedOperations()).map((operation) => [operation.name, operation]));

/** Arguments by which the fields of the tree find a record that is there. */
const known: Record<string, string> = {
  organization: '"acme"',
  'Studio.branch.name': '"main"',
  'Studio.collection.name': '"posts"',
  'Studio.entry.collection': '"posts"',
  'Studio.entry.slug': '"en/alpha"',
  'Studio.entry_at.url': '"https://site.test/"',
  'Studio.pull.number': '1',
  'Studio.environment.id': '1',
  'Collection.entry.slug': '"en/alpha"',
};

/** What is written for an argument or a field of an input that is required. */
function literalOf(type: GraphQLInputType, name: string, project: string): string {
  if (type instanceof GraphQLNonNull) return literalOf(type.ofType as GraphQLInputType, name, project);
  if (type instanceof GraphQLList) return `[${literalOf(type.ofType as GraphQLInputType, name, project)}]`;
  if (type instanceof GraphQLEnumType) return type.getValues()[0]?.name ?? '';
  if (type instanceof GraphQLInputObjectType) {
    const required = Object.values(type.getFields()).filter((field) => field.type instanceof GraphQLNonNull);
    return `{ ${required.map((field) => `${field.name}: ${literalOf(field.type, field.name, project)}`).join(', ')} }`;
  }
  if (name === 'project') return `"${project}"`;
  if (known[name] !== undefined) return known[name];
  return (
    { Int: '999999', Float: '999999', Long: '999999', Boolean: 'true', JSON: '{}', JSONObject: '{}' }[type.name] ??
    '"none"'
  );
}

function argumentsOf(parent: string, name: string, args: readonly GraphQLArgument[], project: string): string {
  const written = args
    .filter((arg) => arg.type instanceof GraphQLNonNull)
    .map((arg) => `${arg.name}: ${known[`${parent}.${name}.${arg.name}`] ?? literalOf(arg.type, arg.name, project)}`);
  return written.length > 0 ? `(${written.join(', ')})` : '';
}

/** A field as it stands in a document: its name and arguments, and the plainest selection when it needs one. */
interface Step {
  written: string;
  name: string;
  type: GraphQLObjectType | null;
}
function stepOf(parent: string, { name, args, type }: GraphQLField<unknown, unknown>, project = 'site'): Step {
  const named = getNamedType(type);
  const written = `${name}${argumentsOf(parent, name, args, project)}`;
  return { written, name, type: named instanceof GraphQLObjectType ? named : null };
}

const documentOf = (steps: readonly Step[], leaf: string) =>
  `{ ${steps.map(({ written }) => written).join(' { ')} ${leaf} ${'}'.repeat(steps.length)}`;

interface Fault {
  message: string;
  path?: (string | number)[];
  extensions: { code: string };
}

/** Reached by subscriptions, by records that take a program or a crawl to make, by git, or by the command line; `rights.test.ts` has them too. */
const unreachedQueries = [
  'assistant.readEvents',
  'backups.checkProject',
  'backups.findRemains',
  'backups.readBackup',
  'crawlers.exportWarc',
  'crawlers.getRunProgress',
  'crawlers.listCrawlers',
  'crawlers.listFires',
  'crawlers.listRunLog',
  'crawlers.listSchedules',
  'projects.findProject',
  'studio.annotateDeploymentPage',
  'studio.blameFile',
  'studio.fetchRepository',
  'studio.getDeploymentEditor',
  'studio.getDeploymentLog',
  'studio.getDeploymentPreview',
  'studio.getDeployments',
  'studio.getEnvironments',
  'studio.listDeploymentLog',
  'studio.listDeployments',
  'studio.listEnvironments',
  'studio.locateEntry',
  'studio.locateFile',
  'studio.preparePush',
  'studio.readBranchMoves',
  'studio.readBranchRules',
  'studio.readChanges',
  'studio.readDeploymentLog',
  'studio.readImport',
  'workflows.getExecution',
  'workflows.getWebhookDeliveries',
  'workflows.getWebhookDelivery',
  'workflows.listExecutionEvents',
  'workflows.listExecutionLog',
  'workflows.listStepRuns',
  'workflows.listWebhookDeliveries',
  'workflows.readExecutionEvents',
];
/** Of REST, git, background work or the command line alone. */
const unreachedCommands = [
  'backups.backupProject',
  'backups.restoreBackup',
  'crawlers.writeImport',
  'identity.linkIdentity',
  'identity.signInWithProvider',
  'studio.noticePush',
  'studio.pushRepository',
  // `setWorkflowEnabled` chooses between it and `enableWorkflow`.
  'workflows.disableWorkflow',
];

const app = shared(graphqlApp);
const tokens = new Map<Caller, string>();

beforeAll(async () => {
  await app.run(createOrganization, { name: 'Other', machine_name: 'other' });
  await app.run(createProject, { organization: 'acme', name: 'Away' });
  await save(await app.repository(), siteFiles);
  const at = 'organization: "acme", project: "site"';
  for (const command of [
    `createBranch(${at}, input: { name: "feature" }) { name }`,
    `updateEntry(${at}, input: { collection: "posts", entry: "en/alpha", body: "New\\n", branch: "feature" }) { slug }`,
    `createPull(${at}, input: { title: "First", head: "feature" }) { number }`,
    `createEnvironment(${at}, input: { name: "Site", branch: "main", provider: static, auto_deploy: false }) { id }`,
    `createWorkflow(${at}, input: { name: "Nightly", definition: "portico: workflow/1\\nsteps:\\n  - {id: a, type: fail}\\n" }) { id }`,
  ]) {
    const { body } = await app.query(`mutation { ${command} }`);
    expect(body.errors, command).toBeUndefined();
    if (body.data.createWorkflow) known['Project.workflow.id'] = `"${body.data.createWorkflow.id}"`;
  }
  const crawler = await makeCrawler(app);
  known['Project.crawler.crawler'] = `"${crawler.uuid}"`;
  await makeSnapshot(app, crawler.id, { '/': 'home' });
  for (const by of callers) {
    if (!by) continue;
    const organization = by.organization === 'here' ? 'acme' : 'other';
    const projects = { all: undefined, here: ['site'], elsewhere: ['away'] }[by.projects];
    tokens.set(by, await app.token(organization, by.permissions, by.organization === 'here' ? projects : undefined));
  }
});

const tokenOf = (by: Caller | null) => (by && tokens.get(by)) ?? null;

/** Asks and notes which operations ran. */
async function observe(document: string, token?: string | null) {
  app.reset();
  const { body } = await app.query(document, { token });
  const ran = [...new Set(app.operations)].map((name) => byName.get(name)).filter((found) => found !== undefined);
  const errors = (body.errors ?? []) as Fault[];
  return { data: body.data, errors, ran };
}

const dig = (data: unknown, steps: readonly Step[]) =>
  steps.reduce<unknown>((value, { name }) => {
    const at = Array.isArray(value) ? value[0] : value;
    return at === null || at === undefined ? null : Reflect.get(at as object, name);
  }, data);

/** A document, and the operations it takes to answer it. */
interface Probe {
  document: string;
  steps: Step[];
  needs: AnyOperation[];
}

/** Walks from the roots over what is there: every field of every type that is reached, once. */
async function findProbes(): Promise<Probe[]> {
  const probes = new Map<string, Probe>();
  const seen = new Set<string>();
  const waiting: { steps: Step[]; type: GraphQLObjectType }[] = [
    { steps: [], type: schema.getQueryType() as GraphQLObjectType },
  ];
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { steps, type } = next;
    const fields = Object.values(type.getFields());
    const plain = fields.filter(
      (field) => isLeafType(getNamedType(field.type)) && field.args.length === 0 && field.name !== 'node_id',
    );
    const [first] = plain;
    const together = await observe(documentOf(steps, `{ ${plain.map(({ name }) => name).join(' ')} }`));
    const alone = first && (await observe(documentOf([...steps, stepOf(type.name, first)], '')));
    // The plain fields of a record come with it: where they do, the first stands for all.
    const areOne = first !== undefined && steps.length > 0 && together.ran.length === alone?.ran.length;
    for (const field of fields.filter((each) => !areOne || each === first || !plain.includes(each))) {
      const step = stepOf(type.name, field);
      const path = [...steps, step];
      const document = documentOf(path, step.type ? '{ __typename }' : '');
      const { data, ran } = await observe(document);
      // One stands for all fields that the same operations answer.
      const key = ran
        .map(({ name }) => name)
        .sort()
        .join(' ');
      if (ran.length > 0 && !probes.has(key)) probes.set(key, { document, steps: path, needs: ran });
      const found = dig(data, path);
      const isThere = found !== null && found !== undefined && !(Array.isArray(found) && found.length === 0);
      if (!step.type || !isThere || seen.has(step.type.name)) continue;
      seen.add(step.type.name);
      waiting.push({ steps: path, type: step.type });
    }
  }
  return [...probes.values()];
}

/** What was requested of one operation or more under an alias of its own. */
interface Question {
  written: string;
  needs: readonly AnyOperation[];
  /** What was selected in the answer of the alias. */
  found(answer: unknown): unknown;
}

/** Holds what a caller got against what the declarations of the operations behind it say. */
function expectRights({ needs, found }: Question, by: Caller | null, answer: unknown, errors: Fault[]) {
  const refusals = needs.map((operation) => refusalOf(operation, by)).filter((code) => code !== null);
  const codes = errors.map(({ extensions }) => extensions.code);
  if (refusals.length > 0) {
    expect(found(answer) ?? null).toBe(null);
    expect(codes).toContain(refusals.includes('unauthenticated') ? 'UNAUTHENTICATED' : 'FORBIDDEN');
    return;
  }
  expect(codes).not.toContain('UNAUTHENTICATED');
  const further = needs.flatMap(furtherRefusals);
  for (const { message, extensions } of errors) if (extensions.code === 'FORBIDDEN') expect(further).toContain(message);
}

/** Asks several questions in one document for each caller they are for, and judges each answer. */
async function askAll(
  kind: 'query' | 'mutation',
  size: number,
  questions: Question[],
  isFor: (question: Question, by: Caller | null) => boolean,
) {
  for (const by of callers) {
    const ours = questions.filter((question) => isFor(question, by));
    for (let at = 0; at < ours.length; at += size) {
      const some = ours.slice(at, at + size);
      const document = `${kind} { ${some.map(({ written }, index) => `q${index}: ${written}`).join(' ')} }`;
      const { data, errors } = await observe(document, tokenOf(by));
      for (const [index, question] of some.entries()) {
        const name = `q${index}`;
        const faults = errors.filter(
          ({ path, extensions }) => path?.[0] === name || extensions.code === 'LIMIT_EXCEEDED',
        );
        try {
          expect(faults.map(({ extensions }) => extensions.code)).not.toContain('LIMIT_EXCEEDED');
          expectRights(question, by, data?.[name], faults);
        } catch (cause) {
          throw new Error(`${by?.title ?? 'no credential'}: ${question.written}: ${(cause as Error).message}`, {
            cause,
          });
        }
      }
    }
  }
}

describe('every field that reads', () => {
  it('gives nothing to callers that the operations behind it refuse', async () => {
    const probes = await findProbes();
    const reached = new Set(probes.flatMap(({ needs }) => needs.map(({ name }) => name)));
    const queries = [...byName.values()].filter(({ kind }) => kind === 'query').map(({ name }) => name);
    expect(queries.filter((name) => !reached.has(name)).sort()).toEqual(unreachedQueries);
    const questions = probes.map(({ document, steps, needs }) => ({
      written: document.slice(1, -1),
      needs,
      found: (answer: unknown) => dig(answer, steps.slice(1)),
    }));
    // In a project, to be confined to it makes no difference, as `rights.test.ts` shows; only for the organisation's own operations it does.
    await askAll(
      'query',
      5,
      questions,
      ({ needs }, by) =>
        by?.projects !== 'here' || by.permissions.length > 1 || needs.some(({ scope }) => scope !== 'project'),
    );
  });
});

describe('every mutation', () => {
  const fields = Object.values(schema.getMutationType()?.getFields() ?? {});

  it('is refused to callers that its operation refuses', async () => {
    const elsewhere = tokenOf(callers.find((by) => by?.projects === 'elsewhere') ?? null);
    const questions: (Question & { needs: [AnyOperation] })[] = [];
    for (const field of fields) {
      const { written, type } = stepOf('Mutation', field);
      const selected = `${written} ${type ? '{ __typename }' : ''}`;
      // With all permissions in another project: what acts on this one is run, and refused.
      const { ran, errors } = await observe(`mutation { ${selected} }`, elsewhere);
      const [operation] = ran;
      if (!operation || ran.length > 1)
        throw new Error(`${selected} runs ${ran.length} operations: ${JSON.stringify(errors)}`);
      questions.push({ written: selected, needs: [operation], found: (answer) => answer });
    }
    // What lets a caller in is not tried: it acts.
    await askAll(
      'mutation',
      10,
      questions,
      ({ needs: [operation] }, by) => operation !== undefined && refusalOf(operation, by) !== null,
    );
    const reached = new Set(questions.map(({ needs: [{ name }] }) => name));
    const commands = [...byName.values()].filter(({ kind }) => kind === 'command').map(({ name }) => name);
    expect(commands.filter((name) => !reached.has(name)).sort()).toEqual(unreachedCommands);
  });
});
