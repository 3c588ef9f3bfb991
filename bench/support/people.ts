import { Member } from '../../src/domain/organizations/member.entity.ts';
import { Organization } from '../../src/domain/organizations/organization.entity.ts';
import type { AllServices } from '../../src/domain/services.ts';
import { startSession } from '../../src/domain/users/sessions.ts';
import { User } from '../../src/domain/users/user.entity.ts';

/** Makes editors of the fixture's organisation who are signed in. @returns the cookies of their sessions */
export async function makeEditors(services: AllServices, count: number): Promise<string[]> {
  const em = services.orm.em.fork();
  const { id: organization_id } = await em.findOneOrFail(Organization, { machine_name: 'bench' });
  const created_at = services.clock.now();
  const cookies: string[] = [];
  for (let n = 1; n <= count; n += 1) {
    const account = { email: `editor-${n}@example.org`, name: `Editor ${n}`, instance_admin: false, preferences: {} };
    // Signed in by no password.
    const user_id = await em.insert(User, { ...account, password: null, created_at });
    const joined = { created_at, joined_at: created_at };
    await em.insert(Member, { organization_id, user_id, role: 'editor', permissions: [], projects: null, ...joined });
    await em.transactional(async (within) => {
      const context = {
        ...{ actor: null, em: within, services, address: '127.0.0.1' },
        browser: { user_agent: 'Benchmark', same_origin: true },
        setSession: (text: string | null) => void cookies.push(`portico=${text}`),
      };
      await startSession(context, await within.findOneOrFail(User, { id: user_id }));
    });
  }
  return cookies;
}
