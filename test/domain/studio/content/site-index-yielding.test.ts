import { expect, it } from 'vitest';
import { buildSite, changeSite } from '../../../../src/domain/studio/content/site-index.ts';
import { listingDigest } from '../../../../src/domain/studio/content/stored/schema-store.ts';
import { discoverSchemas } from '../../../../src/domain/studio/schema/discover.ts';
import { iterationsDuring } from '../../../support/loop-iterations.ts';

const count = 4_000;
const files = Array.from({ length: count }, (_, at) => ({
  path: `content/posts/p${String(at).padStart(4, '0')}.md`,
  oid: '1',
  mode: '100644',
}));
const discover = () => discoverSchemas({ paths: files, read: async () => null }, { sampleEntries: async () => [] });

it('the schemas of a wide tree are discovered in many steps', async () => {
  const found = iterationsDuring(async () => {
    expect((await discover()).schemas.map(({ collection }) => collection)).toEqual(['posts']);
  });
  expect(await found).toBeGreaterThan(count / 10);
});

it('the entries of a wide tree are indexed in many steps, at first and after many changes', async () => {
  const discovery = await discover();
  let site = await buildSite(discovery, 'key', []);
  const built = iterationsDuring(async () => {
    site = await buildSite(discovery, 'key', files);
    expect(site.collection('posts').size).toBe(count);
  });
  expect(await built).toBeGreaterThan(count / 10);
  const gone = new Map(files.slice(0, 1_000).map(({ path }) => [path, null]));
  const changed = iterationsDuring(async () => {
    expect((await changeSite(site, gone)).collection('posts').size).toBe(count - 1_000);
  });
  expect(await changed).toBeGreaterThan(count / 10);
});

it('the listing of a wide tree is digested in many steps', async () => {
  const discovery = await discover();
  const digested = iterationsDuring(() =>
    listingDigest(
      files.map(({ path }) => path),
      discovery,
      undefined,
    ),
  );
  expect(await digested).toBeGreaterThan(count / 40);
});
