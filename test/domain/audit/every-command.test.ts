import { randomUUID } from 'node:crypto';
import { type GraphQLField, getNamedType, isLeafType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { createProject } from '../../../src/domain/projects/projects.operations.ts';
import { buildGraphqlSchema } from '../../../src/graphql/schema.ts';
import { commandOf } from '../../../src/graphql/table.ts';
import { permissionNames, systemActor } from '../../../src/kernel/actor.ts';
import { auditEntries } from '../../../src/kernel/audit.ts';
import type { AnyOperation } from '../../../src/kernel/operation.ts';
import { run } from '../../../src/kernel/run.ts';
import { routes } from '../../../src/rest/routes.ts';
import { systemCall } from '../../../src/server/first-run.ts';
import { acme, shared, startTestApp, studio } from '../../support/app.ts';
import fc from '../../support/properties.ts';
import { exportedOperations } from '../../support/rights.ts';

const app = shared(startTestApp);
let commands: AnyOperation[];
beforeAll(async () => {
  // Some commands delete the project they are given.
  await app.run(createProject, { organization: 'acme', name: 'Tried', machine_name: 'tried' });
  commands = (await exportedOperations()).filter(({ kind }) => kind === 'command');
});

const rowsOf = async (request_id: string) =>
  (await app.services.orm.em.fork().execute('select * from audit where request_id = ?', [request_id])) as Record<
    string,
    unknown
  >[];

/** Values that are invalid for every field, some of which cannot be stored. */
const nasty = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>('\u0000', 'a\u0000b', '\ud800', 'undefined', 'x'.repeat(5_000), 1e300, -0, { toString: 1 }),
);
const bare: unknown = Object.assign(Object.create(null), { valueOf: 5 });

/** An input that has any of the operation's fields with any values, and names of its own. */
const inputOf = ({ input }: AnyOperation) =>
  fc
    .record(Object.fromEntries(Object.keys(input.shape).map((name) => [name, fc.oneof(nasty, fc.constant(bare))])), {
      requiredKeys: [],
    })
    .chain((fields) =>
      fc
        .dictionary(fc.oneof(fc.string(), fc.constantFrom('\u0000', '\ud800', '__proto__')), nasty, { maxKeys: 3 })
        .map((more) => ({ ...more, ...fields })),
    );

const nowhere = { organization: null, project: null, grant: null };

describe('every command', () => {
  it('has a row for any input and outcome', () => {
    const call = systemCall(app.services, systemActor('test', [], 'portico.test'));
    expect(commands.length).toBeGreaterThan(60);
    for (const command of commands) {
      fc.assert(
        fc.property(
          fc.oneof(inputOf(command), fc.jsonValue()),
          fc.constantFrom('denied', 'failed'),
          (input, outcome) => {
            const [entry, ...more] = auditEntries(command, call, call.actor, nowhere, input, outcome as 'denied', null);
            expect(more).toEqual([]);
            expect(entry?.subject.type).toMatch(/^[a-z_]+$/);
            const { id } = entry?.subject ?? {};
            expect(id === null || (typeof id === 'string' && id.length <= 500 && id.isWellFormed())).toBe(true);
            expect(Object.keys(entry?.input ?? {}).every((name) => Object.hasOwn(command.input.shape, name))).toBe(
              true,
            );
          },
        ),
        { numRuns: 30 },
      );
    }
  });

  it('has a row that is made without listing the names of a refused input', () => {
    const call = systemCall(app.services, systemActor('test', [], 'portico.test'));
    for (const command of commands) {
      const [name = ''] = Object.keys(command.input.shape);
      const fields: Record<string, unknown> = { [name]: 'a', '': 1 };
      const input = new Proxy(fields, { ownKeys: () => expect.unreachable(`${command.name} lists the names`) });
      const [entry] = auditEntries(command, call, call.actor, nowhere, input, 'failed', null);
      expect(entry?.input).toEqual(name === '' ? {} : { [name]: 'a' });
    }
  });

  it.each([
    ['that lacks a permission', [] as const],
    ['with every permission', permissionNames],
  ])('leaves one row when it is refused or fails, for a caller %s', async (_who, permissions) => {
    // Those without a URL take directories of the server and streams of git.
    const reached = new Set(routes.map(({ operation }) => operation.name));
    const missing: string[] = [];
    for (const command of commands) {
      if (permissions.length > 0 && !reached.has(command.name)) continue;
      for (const fields of fc.sample(inputOf(command), 3)) {
        const request_id = randomUUID();
        const actor = systemActor('test', permissions, 'portico.test', permissions.length > 0);
        const call = { ...systemCall(app.services, actor), request_id };
        const outcome = await run(command, call, { ...fields, organization: 'acme', project: 'tried' }).then(
          () => 'ok',
          ({ code = 'internal' }) => String(code),
        );
        // A signature that is wrong says nothing of who sent it.
        const expected = outcome === 'unauthenticated' ? 0 : 1;
        const rows = await rowsOf(request_id);
        if (rows.length !== expected)
          missing.push(`${command.name} ${outcome}: ${rows.length} rows for ${Object.keys(fields)}`);
      }
    }
    expect(missing).toEqual([]);
  });
});

type Variables = Record<string, unknown>;

/** A value as a literal of a document. */
const literal = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(literal)}]`;
  if (typeof value === 'string') return JSON.stringify(value.toWellFormed());
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const fields = Object.entries(value).filter(([name]) => /^(?!__)[a-z_]\w*$/i.test(name));
  return `{${fields.map(([name, item]) => `${name}:${literal(item)}`)}}`;
};

/** How a document may have its arguments. */
const writings = ['variables', 'variables of another type', 'literals', 'an unknown argument'] as const;
type Writing = (typeof writings)[number];

function documentOf({ name, type, args }: GraphQLField<unknown, unknown>, given: Variables, writing: Writing): string {
  const sent = args.filter((each) => Object.hasOwn(given, each.name));
  const isLiteral = writing === 'literals';
  const all = sent.map((each) => `${each.name}: ${isLiteral ? literal(given[each.name]) : `$${each.name}`}`);
  if (writing === 'an unknown argument') all.push('unknown: 1');
  const other = writing === 'variables of another type' ? '[[Float!]!]' : undefined;
  const head = isLiteral ? [] : sent.map((each) => `$${each.name}: ${other ?? each.type}`);
  const inBrackets = (items: string[]) => (items.length > 0 ? `(${items})` : '');
  const selection = isLeafType(getNamedType(type)) ? '' : '{ __typename }';
  return `mutation${inBrackets(head)} { ${name}${inBrackets(all)} ${selection} }`;
}

describe('every mutation', () => {
  const fields = Object.values(buildGraphqlSchema().getMutationType()?.getFields() ?? {});
  const requested = async (query: string, variables: Variables) => {
    const { status, headers, body } = await app.ask('POST', '/graphql', { body: { query, variables } });
    return { status, body, rows: await rowsOf(headers.get('x-request-id') ?? '') };
  };

  it('leaves one row when it is refused or fails, whatever its arguments look like', async () => {
    expect(fields.length).toBeGreaterThan(70);
    const wrong: string[] = [];
    for (const field of fields) {
      const input = fc.oneof(inputOf(commandOf(field, {})), nasty);
      const anywhere = fc.record({ organization: nasty, project: nasty, input }, { requiredKeys: [] });
      const inPlace = fc.record(
        { organization: fc.constant('acme'), project: fc.constant('tried'), input },
        { requiredKeys: ['organization', 'project'] },
      );
      for (const writing of writings) {
        for (const given of [...fc.sample<Variables>(inPlace, 2), ...fc.sample<Variables>(anywhere, 1)]) {
          const { kind } = commandOf(field, (given.input ?? {}) as Variables);
          const { rows, body } = await requested(documentOf(field, given, writing), given);
          if (rows.length !== (kind === 'command' ? 1 : 0))
            wrong.push(`${field.name} by ${writing}: ${rows.length} rows, ${JSON.stringify(body).slice(0, 200)}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('names organisation and project when it is refused before it runs', async () => {
    const wrong: string[] = [];
    for (const field of fields) {
      const places: Variables = {};
      for (const { name } of field.args) if (name !== 'input') places[name] = name === 'project' ? 'site' : 'acme';
      const { status, rows } = await requested(documentOf(field, places, 'an unknown argument'), places);
      if (commandOf(field, {}).kind !== 'command') continue;
      const [row] = rows;
      const isPlaced = !!row?.organization_id === !!places.organization && !!row?.project_id === !!places.project;
      if (status !== 400 || rows.length !== 1 || !isPlaced || row?.outcome !== 'failed')
        wrong.push(`${field.name}: ${status} ${JSON.stringify(rows)}`);
    }
    expect(wrong).toEqual([]);
  });
});

describe('a refused command', () => {
  const requested = async (method: string, path: string, body: unknown, headers: Record<string, string> = {}) => {
    const answer = await app.ask(method, path, { body, headers });
    return { status: answer.status, rows: await rowsOf(answer.headers.get('x-request-id') ?? '') };
  };

  it.each([
    ['no JSON', '{', 400],
    ['too deep', '['.repeat(500), 400],
    ['no object', '[]', 400],
    ['a name given twice with two values', '{"organization":"other"}', 400],
    ['a name that is not known, and nothing may be ignored', '{"naem":1}', 400],
  ])('leaves a row when its body is %s', async (_what, body, status) => {
    const found = await requested('POST', `${acme}/projects`, body, { Prefer: 'handling=strict' });
    expect(found).toMatchObject({ status, rows: [{ action: 'projects.createProject', outcome: 'failed' }] });
    expect(found.rows[0]?.organization_id).toEqual(expect.any(Number));
  });

  it('leaves a row when its body is of another type', async () => {
    const headers = { 'Content-Type': 'text/plain' };
    const found = await requested('POST', `${studio}/branches`, 'name=a', headers);
    expect(found).toMatchObject({ status: 415, rows: [{ action: 'studio.createBranch', subject_type: 'branch' }] });
    expect(found.rows[0]?.project_id).toEqual(expect.any(Number));
  });

  it('is named by what is there of its subject', async () => {
    const slug = 'undefined-behaviour';
    const named = await requested('POST', `${studio}/collections/posts`, { slug, frontmatter: 5 });
    expect(named.rows).toMatchObject([{ subject_type: 'entry', subject_id: `posts/${slug}` }]);
    const nameless = await requested('POST', `${studio}/collections/posts`, { slug: { a: 1 } });
    expect(nameless.rows).toMatchObject([{ subject_type: 'entry', subject_id: null }]);
  });
});
