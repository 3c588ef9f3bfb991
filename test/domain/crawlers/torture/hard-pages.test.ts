import { beforeAll, describe, expect, it } from 'vitest';
import { readLog } from '../../../../src/domain/crawlers/runs/runs.operations.ts';
import { shared, startTestApp } from '../../../support/app.ts';
import { crawl } from '../../../support/crawlers/crawls.ts';
import { expectOutcome, type Tortured, torture } from '../../../support/crawlers/torture.ts';
import { links, page, serveSite } from '../../../support/sites/site-server.ts';
import { bodyCases } from '../../../support/sites/torture/bodies.ts';
import { charsetCases } from '../../../support/sites/torture/charsets.ts';
import { redirectCases } from '../../../support/sites/torture/redirects.ts';
import { patienceCases, statusCases } from '../../../support/sites/torture/statuses.ts';

const site = shared(() => serveSite(() => page('Start')));
const app = shared(() => startTestApp({ PORTICO_TRUSTED_DOMAINS: 'localhost', PORTICO_LOG_LEVEL: 'info' }));

describe.each([
  ['redirects', redirectCases],
  ['bodies', bodyCases],
  ['charsets', charsetCases],
  ['statuses', statusCases],
])('%s', (_, cases) => {
  let tortured: Tortured;
  beforeAll(async () => {
    tortured = await torture(app, site, cases);
  });
  it.each(cases)('$name', (each) => expectOutcome(tortured, each));
});

it('captures statuses that are listed, with what they link to', async () => {
  const [missing] = statusCases.filter(({ name }) => name === '404');
  if (missing === undefined) throw new Error('no such case');
  const { rows, requested } = await torture(app, site, [missing], { status_ok: [200, 404] });
  expect(rows.get('/s404')).toMatchObject({ state: 'done', http_status: 404, sha256: expect.anything() });
  expect(requested.has('/linked-from-404')).toBe(true);
});

it('says of which pages only the beginning was read', async () => {
  const filler = '<p>filler</p>\n'.repeat(800_000);
  site.become(({ path }) => (path === '/' ? page('Long', links(['/first']), filler, links(['/beyond'])) : page(path)));
  const run = await crawl(app, site.host);
  expect(run).toMatchObject({ status: 'completed', counts: { html: 2 } });
  expect(site.paths()).toEqual(['/', '/first']);
  const lines = await readLog(app.services.orm.em.fork(), run, { after: 0, level: 'warn', limit: 10 });
  // On a busy machine the time for reading the page may end as well.
  const sizes = lines.filter(({ data }) => data?.fault !== 'time');
  expect(sizes).toMatchObject([{ event: 'document_fault', data: { url: `${site.origin}/`, fault: 'too_large' } }]);
});

describe('patience', () => {
  // A host that throttles gets slow requests for a while, so each is a host of its own.
  it.concurrent.each(patienceCases)('$name', async (each) => {
    const busy = await serveSite(() => page('Start'));
    try {
      expectOutcome(await torture(app, busy, [each]), each);
    } finally {
      await busy.close();
    }
  });
});
