import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { commitFiles, setRef } from './git-history.ts';
import { git, temporaryDirectory } from './git-store.ts';

/** The path of sshd, which has to be started by it. */
function sshd(): string {
  const found = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
    .map((directory) => join(directory, 'sshd'))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Error('this test needs sshd (package openssh-server)');
  return found;
}

const keygen = 'ssh-keygen';

/** A key without a passphrase; its private half. */
export function newKey(path: string): string {
  execFileSync(keygen, ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', path]);
  return readFileSync(path, 'utf8');
}

async function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => resolve(socket.destroy() && true));
    socket.once('error', () => resolve(false));
  });
}

/** A real sshd on loopback that lets one key in and runs git for it, and a repository there; `name` is what its URL calls it. */
export async function sshHost(name = 'git.example.test', files: Record<string, string> = { a: '1' }) {
  const directory = temporaryDirectory();
  const at = (name: string) => join(directory, name);
  newKey(at('host'));
  const key = newKey(at('user'));
  writeFileSync(at('authorized_keys'), readFileSync(at('user.pub')), { mode: 0o600 });
  const repository = at('site.git');
  git(directory, ['init', '-q', '--bare', '--initial-branch=main', repository]);
  const first = setRef(repository, 'refs/heads/main', commitFiles(repository, null, files));
  const port = await freePort();
  writeFileSync(
    at('config'),
    [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${at('host')}`,
      `AuthorizedKeysFile ${at('authorized_keys')}`,
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'StrictModes no',
      'UsePAM no',
      'PidFile none',
      '',
    ].join('\n'),
  );
  // sshd started by root needs this directory.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const server = spawn(sshd(), ['-D', '-e', '-f', at('config')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  server.stderr.on('data', (text) => (said += text));
  onTestFinished(() => void server.kill());
  while (!(await answers(port))) {
    if (server.exitCode !== null) throw new Error(`sshd ended: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  // Names as OpenSSH writes them for a port that is not 22.
  const knownHosts = at('known hosts');
  writeFileSync(knownHosts, `[${name}]:${port} ${readFileSync(at('host.pub'), 'utf8')}`);
  const url = `ssh://${userInfo().username}@${name}:${port}${repository}`;
  return { at, key, url, knownHosts, repository, first, port };
}
