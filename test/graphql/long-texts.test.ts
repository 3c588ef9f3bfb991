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
