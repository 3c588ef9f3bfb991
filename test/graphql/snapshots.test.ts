import { beforeAll, expect, it } from 'vitest';
import { snapshotImportJobFor } from '../../src/jobs/job-handlers.ts';
import { shared } from '../support/app.ts';
import { crawl, endRun, makeCrawler, makeSnapshot, origin } from '../support/crawlers/snapshots.ts';
import { save } from '../support/git-store.ts';
import { graphqlApp } from '../support/graphql-app.ts';

const app = shared(graphqlApp);
const at = 'organization: "acme", project: "site"';

beforeAll(async () => {
  await save(await app.repository(), { 'README.md': 'ours' });
});

const ask = (document: string) => app.data(document);
const crawlerField = async (uuid: string, selection: string) =>
  (await ask(`{ project(${at}) { crawler(crawler: "${uuid}") { ${selection} } } }`)).project.crawler;

it('leads from a crawler to its snapshots, their entries and differences', async () => {
  const crawler = await makeCrawler(app);
  const first = await makeSnapshot(app, crawler.id, { '/': 'home', '/a': 'a' });
  const second = await makeSnapshot(app, crawler.id, { '/': 'home 2', '/a': 'a', '/b': 'b' });
  const found = await crawlerField(
    crawler.uuid,
    `snapshots { total_count nodes { id state published entries(kind: page, q: "/a") { nodes { url http_status } } } }
     snapshot(id: ${first?.id}) { id published preview { url } diff { nodes { url change base { bytes } head { bytes } } } }
     published_snapshot { id checks { name passed } entries { total_count } }`,
  );
  expect(found.snapshots).toMatchObject({
    total_count: 2,
    nodes: [
      {
        id: second?.id,
        state: 'ready',
        published: true,
        entries: { nodes: [{ url: `${origin}/a`, http_status: 200 }] },
      },
      { id: first?.id, published: false },
    ],
  });
  expect(found.snapshot).toMatchObject({
    id: first?.id,
    published: false,
    preview: { url: expect.stringContaining(`s--${first?.id}.`) },
  });
  expect(found.snapshot.diff.nodes).toEqual([
    { url: `${origin}/`, change: 'changed', base: { bytes: 6 }, head: { bytes: 4 } },
    { url: `${origin}/b`, change: 'removed', base: { bytes: 1 }, head: null },
  ]);
  expect(found.published_snapshot).toMatchObject({ id: second?.id, entries: { total_count: 3 } });
});

it('leads from a snapshot back to its crawler, its run and the snapshot before', async () => {
  const crawler = await makeCrawler(app);
  const first = await makeSnapshot(app, crawler.id, { '/': 'home' });
  const second = await makeSnapshot(app, crawler.id, { '/': 'home 2' });
  const { snapshots } = await crawlerField(
    crawler.uuid,
    `snapshots { nodes { run_id crawler { uuid project { machine_name } } base { id base { id } }
      run { id schedule { id } crawler { uuid } snapshot { id } project { machine_name } } } }`,
  );
  const project = { machine_name: 'site' };
  const run = { id: snapshots.nodes[0].run_id, schedule: null, crawler: { uuid: crawler.uuid }, project };
  expect(snapshots.nodes[0]).toMatchObject({
    crawler: { uuid: crawler.uuid, project },
    base: { id: first?.id, base: null },
    run: { ...run, snapshot: { id: second?.id } },
  });
  expect(snapshots.nodes[1]).toMatchObject({ base: null, run: { snapshot: { id: first?.id } } });
});

it('publishes, pins, imports and deletes snapshots, and shows broken links', async () => {
  const crawler = await makeCrawler(app);
  const run = await crawl(app, crawler.id, { '/': 'home' }, { failed: { '/gone': 404 } });
  const first = await endRun(app, run);
  await makeSnapshot(app, crawler.id, { '/': 'home 2' });
  const input = `crawler: "${crawler.uuid}", snapshot: ${first?.id}`;
  const done = await ask(`mutation {
    publishSnapshot(${at}, input: { ${input} }) { id published }
    updateSnapshot(${at}, input: { ${input}, pinned: true, note: "keep" }) { pinned note entries { total_count } }
    importSnapshot(${at}, input: { ${input}, branch: "main", directory: "site" }) { id state mode }
  }`);
  expect(done).toMatchObject({
    publishSnapshot: { id: first?.id, published: true },
    updateSnapshot: { pinned: true, note: 'keep', entries: { total_count: 1 } },
    importSnapshot: { state: 'queued', mode: 'mirror' },
  });
  const { id } = done.importSnapshot;
  await snapshotImportJobFor(app.services).handle({ import_id: id }, new AbortController().signal);
  const shown = await crawlerField(
    crawler.uuid,
    `import(id: ${id}) { state added commit skipped { path } } run(run_id: ${run.id}) { broken_links { nodes { url http_status linked_from { url } } } }`,
  );
  expect(shown.import).toMatchObject({ state: 'completed', added: 1, skipped: [] });
  expect(shown.run.broken_links.nodes).toEqual([{ url: `${origin}/gone`, http_status: 404, linked_from: [] }]);
  const { body } = await app.query(`mutation { deleteSnapshot(${at}, input: { ${input} }) { snapshot { id } } }`);
  expect(body.errors[0].extensions.reason).toBe('in_use');
});

it('names no snapshot that was deleted, and asks for those of a list in one batch', async () => {
  const crawler = await makeCrawler(app);
  const made: number[] = [];
  for (const text of ['one', 'two', 'three']) made.push((await makeSnapshot(app, crawler.id, { '/': text }))?.id ?? 0);
  const [first, second, third] = made;
  const lists = 'runs { nodes { snapshot_id } } snapshots { nodes { id base_id } }';
  const look = () => crawlerField(crawler.uuid, lists);
  expect((await look()).snapshots.nodes[0]).toEqual({ id: third, base_id: second });
  const { statements } = await app.leastOf(look);
  const input = `crawler: "${crawler.uuid}", snapshot: ${second}`;
  const { importSnapshot } = await ask(
    `mutation { importSnapshot(${at}, input: { ${input}, branch: "main" }) { id snapshot_id } }`,
  );
  expect(importSnapshot.snapshot_id).toBe(second);
  await ask(`mutation { deleteSnapshot(${at}, input: { ${input} }) { snapshot { id } } }`);
  const imported = await crawlerField(
    crawler.uuid,
    `import(id: ${importSnapshot.id}) { snapshot_id snapshot { id } crawler { uuid } }`,
  );
  expect(imported).toEqual({ import: { snapshot_id: null, snapshot: null, crawler: { uuid: crawler.uuid } } });
  expect(await look()).toMatchObject({
    runs: { nodes: [{ snapshot_id: third }, { snapshot_id: null }, { snapshot_id: first }] },
    snapshots: {
      nodes: [
        { id: third, base_id: null },
        { id: first, base_id: null },
      ],
    },
  });
  for (let more = 0; more < 5; more += 1) await makeSnapshot(app, crawler.id, { '/': `more ${more}` });
  expect((await app.leastOf(look)).statements).toHaveLength(statements.length);
});
