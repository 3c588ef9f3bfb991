import { beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { ignoredFields, ignoredHeader, isStrict, knownPart } from '../../src/rest/ignored-fields.ts';
import { acme, seed, shared, startTestApp, studio } from '../support/app.ts';
import fc from '../support/properties.ts';
import { expectRefusal } from '../support/refusal.ts';

const app = shared(startTestApp);
const posts = `${studio}/collections/posts`;

beforeAll(() =>
  seed(app, {
    'package.json': '{"dependencies":{"astro":"5.0.0"}}',
    'src/content.config.ts': `import { defineCollection, z } from 'astro:content';
import { glob } from 'astro/loaders';
const posts = defineCollection({ loader: glob({ pattern: '**/*.md', base: './src/content/posts' }), schema: z.object({ title: z.string() }) });
export const collections = { posts };
`,
    'src/content/posts/a.md': '---\ntitle: A\n---\nText\n',
  }),
);

const entry = (slug: string, more: object) => ({ slug, frontmatter: { title: slug }, body: '', ...more });
const strict = { Prefer: 'handling=strict' };

describe('the answer of a command', () => {
  it('names a mistyped field as a warning and in the header', async () => {
    const { status, headers, body } = await app.ask('POST', `${studio}/branches`, {
      body: { name: 'mistyped', from: 'main', brnach: 'draft', author: 1 },
    });
    expect({ status, ignored: headers.get('x-ignored-fields') }).toEqual({ status: 201, ignored: 'author,brnach' });
    expect(body.warnings).toEqual([
      { field: '/author', code: 'ignored', message: 'is not a field of this request and was ignored' },
      { field: '/brnach', code: 'ignored', message: 'is not a field of this request and was ignored' },
    ]);
  });

  it('names fields below the top by their place', async () => {
    const { body, headers } = await app.ask('PUT', `${posts}/a`, {
      body: { author: { name: 'A', email: 'a@b.test', 'ti/tle': 'Dr' } },
    });
    expect(headers.get('x-ignored-fields')).toBe('author.ti%2Ftle');
    expect(body.warnings).toContainEqual({ field: '/author/ti~1tle', code: 'ignored', message: expect.any(String) });
  });

  it('names query parameters alike', async () => {
    const { status, body } = await app.ask('PATCH', `${acme}?naem=x`, { body: { name: 'Acme' } });
    expect({ status, warnings: body.warnings }).toMatchObject({ status: 200, warnings: [{ field: '/naem' }] });
  });

  it('has no warnings of this kind when all is known', async () => {
    const { status, body } = await app.ask('POST', `${studio}/branches`, { body: { name: 'known', from: 'main' } });
    expect(status).toBe(201);
    expect(body).not.toHaveProperty('warnings');
  });

  it('keeps warnings of its own beside them', async () => {
    const path = `${studio}/route-patterns/detect`;
    const { warnings } = (await app.ask('POST', path, { body: {} })).body;
    const { status, body } = await app.ask('POST', path, { body: { brnach: 'x' } });
    expect(status).toBe(200);
    expect(body.warnings).toEqual([...warnings, { field: '/brnach', code: 'ignored', message: expect.any(String) }]);
  });

  it('names at most twenty of any number', async () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`n${at}`, at]));
    const { status, body } = await app.ask('PATCH', acme, { body: many });
    expect(status).toBe(200);
    expect(body.warnings).toHaveLength(20);
  });
});

it('the answer of a query names them in the header alone', async () => {
  const { status, headers, body } = await app.ask('GET', `${posts}/a?brnach=x`);
  expect({ status, ignored: headers.get('x-ignored-fields') }).toEqual({ status: 200, ignored: 'brnach' });
  expect(body.warnings).toEqual([]);
});

describe('Prefer: handling=strict', () => {
  it('returns 400 that names the fields, and nothing is done', async () => {
    const answer = await app.ask('POST', posts, { headers: strict, body: entry('strict', { brnach: 'x', z: 1 }) });
    const message =
      'brnach: is not a field of this request (and 1 more); remove it, or send no Prefer: handling=strict';
    expectRefusal(answer, 400, 'invalid_request', message);
    expect(answer.body.details.errors).toEqual([
      { field: '/brnach', code: 'unknown_field', message: 'is not a field of this request' },
      { field: '/z', code: 'unknown_field', message: 'is not a field of this request' },
    ]);
    expect(answer.headers.get('preference-applied')).toBe('handling=strict');
    expect((await app.ask('GET', `${posts}/strict`)).status).toBe(404);
  });

  it('returns 400 for an unknown query parameter of a read', async () => {
    expect((await app.ask('GET', `${posts}/a?brnach=x`, { headers: strict })).status).toBe(400);
  });

  it('changes nothing for a request whose names are all known', async () => {
    const { status, headers } = await app.ask('POST', posts, { headers: strict, body: entry('fine', {}) });
    expect({ status, applied: headers.get('preference-applied') }).toEqual({ status: 201, applied: 'handling=strict' });
  });

  it.each([
    ['handling=strict', true],
    ['respond-async, handling=strict', true],
    ['Handling = "strict"; x=y', true],
    ['handling=lenient', false],
    ['handling=stricter', false],
    ['xhandling=strict', false],
    [undefined, false],
  ])('is read from %s as %s', (header, expected) => expect(isStrict(header)).toBe(expected));
});

describe('organization and project, which are names of paths', () => {
  const draft = { name: 'leak', permissions: ['browse_studio'] };

  it('are ignored with a warning in the body of an operation whose path does not have them', async () => {
    const { status, headers, body } = await app.ask('POST', `${acme}/tokens`, { body: { ...draft, project: 'site' } });
    expect({ status, ignored: headers.get('x-ignored-fields') }).toEqual({ status: 201, ignored: 'project' });
    expect(body.warnings).toEqual([{ field: '/project', code: 'ignored', message: expect.any(String) }]);
  });

  it('are refused there under strict handling, in the body and in the query', async () => {
    const message = 'project: is not a field of this request; remove it, or send no Prefer: handling=strict';
    const inBody = { headers: strict, body: { ...draft, project: 'site' } };
    expectRefusal(await app.ask('POST', `${acme}/tokens`, inBody), 400, 'invalid_request', message);
    expectRefusal(
      await app.ask('GET', `${acme}/tokens?project=site`, { headers: strict }),
      400,
      'invalid_request',
      message,
    );
  });

  it('may repeat what the path says, and nothing else', async () => {
    const repeat = (project: string) =>
      app.ask('POST', `${studio}/branches`, { headers: strict, body: { name: 'repeated', from: 'main', project } });
    expect((await repeat('other')).status).toBe(400);
    expect((await repeat('site')).status).toBe(201);
  });
});

describe('ignoredFields', () => {
  const schema = z.object({
    name: z.string().optional(),
    inner: z.object({ a: z.number() }).optional(),
    list: z.array(z.object({ b: z.number() })).optional(),
    free: z.record(z.string(), z.unknown()).optional(),
  });

  it('finds the first twenty names in order and counts all, whatever order they come in', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', 'z', '.', '/', '~', 'ü', '%'), maxLength: 4 });
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 60 }), (names) => {
        const unknown = names.filter((each) => !Object.hasOwn(schema.shape, each));
        const { fields, count } = ignoredFields(schema, Object.fromEntries(names.map((each) => [each, 1])));
        const first = unknown.sort().slice(0, 20);
        expect(count).toBe(unknown.length);
        expect(fields.map((field) => field.name)).toEqual(
          first.map((each) => encodeURIComponent(each).replaceAll('~', '%7E')),
        );
      }),
    );
  });

  it('looks into lists and objects with a schema, and into nothing that is free', () => {
    const { fields } = ignoredFields(schema, {
      inner: { a: 1, x: { deep: 1 } },
      list: [{ b: 1 }, { b: 1, y: 2 }, null],
      free: { anything: 1 },
    });
    expect(fields.map(({ name }) => name)).toEqual(['inner.x', 'list.1.y']);
  });

  it('shows the beginning of a name that fits into no header', () => {
    const found = ignoredFields(schema, { ['x'.repeat(10_000_000)]: 1 });
    expect(found.fields[0]?.name).toHaveLength(1024);
    expect(ignoredHeader(found)).toHaveLength(1024);
  });

  it('drops unknown names at the top and keeps those of the path', () => {
    const input = { organization: 'o', project: 'p', name: 'n', x: 1, y: 2 };
    const inPath = ['organization', 'project'];
    expect({ ...knownPart(schema, input, inPath) }).toEqual({ organization: 'o', project: 'p', name: 'n' });
    expect({ ...knownPart(schema, input, ['organization']) }).toEqual({ organization: 'o', name: 'n' });
  });
});

it('encodes no more of many names than are shown', () => {
  const names = Array.from({ length: 1_000 }, (_, at) => [`größe ${String(at).padStart(4, '0')}`, 0]);
  const encoded = vi.spyOn(Buffer, 'from');
  try {
    const { fields, count } = ignoredFields(z.object({ name: z.string() }), Object.fromEntries(names.reverse()));
    expect(encoded).toHaveBeenCalledTimes(20);
    expect(count).toBe(1_000);
    expect(fields.map(({ name }) => name).slice(0, 2)).toEqual(['gr%C3%B6%C3%9Fe%200000', 'gr%C3%B6%C3%9Fe%200001']);
  } finally {
    encoded.mockRestore();
  }
});
