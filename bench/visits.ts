import { selfSigned } from '../test/support/certificate.ts';
import { startGitBackend } from '../test/support/git-backend.ts';
import { type EntryCourse, entryCourses } from '../test/support/routes/entry-courses.ts';
import { type FixtureSite, fixtureSites, versionOf } from '../test/support/routes/fixture-sites.ts';
import { publishRepository, visitSettings, visitSite, visitSteps } from '../test/support/routes/site-visit.ts';
import type { Benchmark, Case } from './benchmark.ts';
import { makeFixture } from './support/fixture.ts';
import { root, startServer } from './support/server.ts';

/** Longest deployment, milliseconds: the first one installs the packages of a framework. */
const patience = 600_000;

const isNamed = (name: string): name is keyof typeof entryCourses => Object.hasOwn(entryCourses, name);

/** Whether a person can do with a site what its framework's documentation says, up to the pages that the framework builds of it. */
export const visits: Benchmark = {
  name: 'visits',
  summary: 'An entry with an image made, previewed, renamed and deleted in the sites of test/sites, imported by URL.',
  minutes: 45,
  async run(bench) {
    const directory = await bench.directory();
    const tls = selfSigned();
    const host = await startGitBackend(directory, tls);
    bench.defer(host.stop);
    const settings = await visitSettings(directory, tls.cert);
    const { dataDir, environment, token } = await makeFixture(await bench.directory(), {});
    const server = await startServer({ dataDir, environment: { ...environment, ...settings } });
    bench.defer(server.stop);
    const cases: Case[] = [];
    const notes: string[] = [];
    for (const [name, course] of Object.entries<EntryCourse>(entryCourses)) {
      if (!isNamed(name) || !name.includes(bench.only ?? '')) continue;
      const site: FixtureSite = fixtureSites[name];
      const repository = `${host.url}/${await publishRepository(site, root, directory)}`;
      const visit = { url: server.url, token, organization: 'bench', repository, patience };
      const { done, fault } = await visitSite(visit, site, course);
      if (fault !== null) notes.push(`${name}: ${fault}`);
      const version = await versionOf(site, root);
      cases.push({
        name: `${name} ${version}: ${done.join(', ')}`,
        unit: 'steps',
        value: done.length,
        atLeast: visitSteps.length,
      });
      bench.say(`${name}: ${fault ?? 'all steps done'}`);
    }
    await server.stop();
    return { cases, notes: [...notes, `The steps: ${visitSteps.join(', ')}.`] };
  },
};
