import { expect, it } from 'vitest';
import { addHosts, takeSlotAgain } from '../../../../src/domain/crawlers/hosts/host-rows.ts';
import { shared, startTestApp } from '../../../support/app.ts';

const app = shared(() => startTestApp({}));

it('takes the next slot of a host, and none while it gets no requests', async () => {
  const em = app.services.orm.em.fork();
  const [project] = await em.execute<{ id: number }[]>('select id from project limit 1');
  const again = () => takeSlotAgain(em, project?.id ?? 0, 'site.test', 2_000);
  const pause = (until: string) => em.execute(`update crawl_host set paused_until = now() + interval '${until}'`);
  expect(await again()).toBeNull();
  await addHosts(em, project?.id ?? 0, ['site.test']);
  const first = (await again()) ?? 0;
  expect(first).toBeGreaterThan(0);
  await pause('1 h');
  expect(await again()).toBeNull();
  await pause('-1 s');
  expect((await again()) ?? 0).toBeGreaterThanOrEqual(first + 2_000);
});
