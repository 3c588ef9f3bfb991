import { expect, test } from 'vitest';
import { startTestApp } from '../../support/app.ts';
import { post } from '../../support/conflict-site.ts';
import { fsck, git } from '../../support/git-store.ts';
import { projectOf } from '../../support/mirror.ts';
import { newKey, sshHost } from '../../support/ssh-host.ts';

test('a mirror over ssh: keys are tried, kept sealed, and used for every push', async () => {
  const host = await sshHost('127.0.0.1', { 'content/posts/one.md': post({ title: 'One' }) });
  const app = await startTestApp({ PORTICO_SSH_KNOWN_HOSTS: host.knownHosts, PORTICO_ALLOWED_CIDRS: '127.0.0.0/8' });
  try {
    const project = await projectOf(app, 'mirror');
    const remote = (private_key: string) => ({ url: host.url, auth: { kind: 'ssh_key', private_key } });
    const stranger = await project.ask('PUT', '/repository/remote', remote(newKey(host.at('stranger'))));
    expect(stranger).toMatchObject({ status: 503, body: { details: { reason: 'auth_failed' } } });
    const set = await project.ask('PUT', '/repository/remote', remote(host.key));
    expect(set).toMatchObject({
      status: 200,
      body: { sync: { state: 'in_sync' }, upstream: { auth_kind: 'ssh_key' } },
    });
    const saved = await project.ask('PUT', '/collections/posts/one', { frontmatter: { title: 'Two' } });
    expect(saved).toMatchObject({ status: 200, body: { sync: { state: 'in_sync' } } });
    expect(git(host.repository, ['rev-parse', 'main'])).toBe(saved.body.commit.sha);
    expect(app.log.join('')).not.toContain('PRIVATE KEY');
    fsck(host.repository);
  } finally {
    await app.stop();
  }
});
