import type { EntityManager } from '@mikro-orm/postgresql';
import { beforeAll, expect, it } from 'vitest';
import { seed, shared, startTestApp, studio } from '../../../support/app.ts';
import { overtake } from '../../../support/overtake.ts';

const app = shared(startTestApp);
beforeAll(() => seed(app, { 'public/index.html': 'x' }));

const ask = async (place: string, body: object = {}) => app.ask('POST', `${studio}/${place}`, { body });

it.each(['deployed to', 'deployed to again'])(
  'an environment that is deleted while it is %s is not found',
  async (how) => {
    const draft = { name: how, branch: 'main', provider: 'static', output_directory: 'public', auto_deploy: false };
    const environment_id = (await ask('environments', draft)).body.id as number;
    const { id } = (await ask('deployments', { environment_id })).body;
    // As the operation does: the project is held.
    const remove = async (within: EntityManager) => {
      const held = 'select 1 from project where id = (select project_id from environment where id = ?) for update';
      await within.execute(held, [environment_id]);
      await within.execute('delete from environment where id = ?', [environment_id]);
    };
    const deploy = () =>
      how === 'deployed to' ? ask('deployments', { environment_id }) : ask(`deployments/${id}/rerun`);
    expect(await overtake(app, remove, deploy)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  },
);
