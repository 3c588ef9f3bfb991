import { beforeAll, describe, expect, it } from 'vitest';
import { seed, shared, startTestApp } from '../support/app.ts';

/** Bytes of a file; six of them are less than 32 MiB, seven are more. */
const size = 4_900_000;
const app = shared(startTestApp);
beforeAll(async () => {
  const long = Array.from({ length: 7 }, (_, at) => [
    `content/posts/long-${at}.md`,
    `---\ntitle: Long ${at}\n---\n${'x'.repeat(size - 25)}\n`,
  ]);
  await seed(app, Object.fromEntries([['content/posts/short.md', '---\ntitle: Short\n---\nText\n'], ...long]));
});

interface Found {
  data: { project: { studio: Record<string, { slug: string; body?: string; content?: string } | null> } };
  errors?: { message: string; path: string[]; extensions: { code: string } }[];
}

async function select(fields: string[]): Promise<Found> {
  const query = `{ project(organization: "acme", project: "site") { studio { ${fields.join(' ')} } } }`;
  const { status, body } = await app.ask('POST', '/graphql', { body: { query } });
  expect(status).toBe(200);
  return body as unknown as Found;
}
const entry = (at: number, fields = 'slug body') =>
  `e${at}: entry(collection: "posts", slug: "long-${at}") { ${fields} }`;

describe('the texts of one answer', () => {
  it('are entries of at most 32 MiB together; what is beyond is refused by itself', async () => {
    const within = await select([0, 1, 2, 3, 4, 5].map((at) => entry(at)));
    expect(within.errors).toBeUndefined();
    expect(Object.values(within.data.project.studio).every((one) => (one?.body?.length ?? 0) > size - 100)).toBe(true);
    const beyond = await select([0, 1, 2, 3, 4, 5, 6].map((at) => entry(at)));
    expect(Object.values(beyond.data.project.studio).filter((one) => one === null)).toHaveLength(1);
    expect(beyond.errors).toMatchObject([
      {
        message: 'One answer holds at most 33554432 bytes of files; select fewer of them',
        extensions: { code: 'PAYLOAD_TOO_LARGE' },
      },
    ]);
  });

  it('count twice with the whole file beside the body', async () => {
    const { errors } = await select([0, 1, 2, 3].map((at) => entry(at, 'slug body raw')));
    expect(errors).toHaveLength(1);
  });
});

describe('the frontmatter of one answer', () => {
  const locales = [...'abcdefghijklmn'].map((letter) => `a${letter}`);
  const long = shared(startTestApp);
  beforeAll(async () => {
    const config = {
      locales: { codes: locales, default: 'aa', placement: 'directory' },
      collections: [
        { name: 'posts', path: 'content/posts', format: 'yaml', fields: [{ name: 'title', type: 'string' }] },
      ],
    };
    const files = locales.map((locale) => [
      `content/posts/${locale}/same.md`,
      `---\ntitle: ${locale}\nnotes: ${'x'.repeat(200_000)}\n---\nText\n`,
    ]);
    await seed(long, { 'studio.config.json': JSON.stringify(config), ...Object.fromEntries(files) });
  });
  const lists = async (fields: (at: number) => string, count: number) => {
    const some = Array.from({ length: count }, (_, at) => `l${at}: ${fields(at)}`).join(' ');
    const query = `{ project(organization: "acme", project: "site") { studio { collection(name: "posts") { ${some} } } } }`;
    const { status, body } = await long.ask('POST', '/graphql', { body: { query } });
    expect(status).toBe(200);
    return body;
  };
  // Lists of other lengths are not the same one.
  const list = (at: number, selected: string) => `entries(first: ${locales.length + at}) { nodes { ${selected} } }`;

  it('is of at most 32 MiB together', async () => {
    const within = await lists((at) => list(at, 'slug frontmatter'), 11);
    expect(within.errors).toBeUndefined();
    expect(within.data.project.studio.collection.l10.nodes[0].frontmatter.notes).toHaveLength(200_000);
    const beyond = await lists((at) => list(at, 'slug frontmatter'), 12);
    expect(beyond.errors).toMatchObject([{ extensions: { code: 'PAYLOAD_TOO_LARGE' } }]);
    expect((await lists((at) => list(at, 'slug title'), 12)).errors).toBeUndefined();
  });

  it('is so in other languages', async () => {
    const beyond = await lists((at) => list(at, 'translations { slug frontmatter }'), 1);
    expect(beyond.errors[0].extensions.code).toBe('PAYLOAD_TOO_LARGE');
    const within = await lists((at) => list(at, 'translations { slug title }'), 1);
    expect(within.errors).toBeUndefined();
    expect(within.data.project.studio.collection.l0.nodes[0].translations).toHaveLength(locales.length - 1);
  });

  it('is no longer than an answer may be where the same is shown many times', async () => {
    const many = await lists(() => list(0, 'frontmatter'), 25);
    expect(many).toEqual({
      errors: [
        {
          message: 'One answer has at most 67108864 bytes; select less, or a shorter page',
          extensions: { code: 'PAYLOAD_TOO_LARGE', reason: 'too_large', request_id: expect.any(String) },
        },
      ],
    });
  });
});
