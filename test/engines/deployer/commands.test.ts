import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Command, CommandEnd, ProcessName, Workspace } from '../../../src/domain/ports/deployer.ts';
import { createDeployer } from '../../../src/engines/deployer/deployer.ts';
import { longSleep, processesWith } from '../../support/processes.ts';

const mebibyte = 1024 * 1024;
const project = '0193f3a0-0000-7000-8000-00000000000a';
let directory: string;
let workspace: Workspace;
let deployer: ReturnType<typeof createDeployer>;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'portico-deployer-'));
  await chmod(directory, 0o711);
  deployer = createDeployer({
    directory: path.join(directory, 'builds'),
    dataDirectory: path.join(directory, 'data'),
    strict: false,
    limits: { memory: 150 * mebibyte, processes: 40 },
  });
  workspace = await deployer.open({ deployment: 1, project });
  async function* files() {
    yield { path: 'site/a.txt', kind: 'file' as const, content: Buffer.from('a') };
  }
  await workspace.write(files());
});
afterAll(async () => {
  await workspace?.remove();
  await rm(directory, { recursive: true, force: true });
});

async function run(
  text: string,
  more: Partial<Command> = {},
): Promise<CommandEnd & { output: string; leader: ProcessName }> {
  let output = '';
  let leader: ProcessName | undefined;
  const end = await workspace.run({
    text,
    directory: 'site',
    variables: {},
    network: true,
    time: 30_000,
    signal: new AbortController().signal,
    onOutput: (chunk) => {
      output += chunk.toString();
      return undefined;
    },
    onStart: async (name) => {
      leader = name;
    },
    ...more,
  });
  return { ...end, output, leader: leader as ProcessName };
}

describe('a command', () => {
  it('runs where it is told to, and its end is told', async () => {
    expect(await run('cat a.txt; exit 3')).toMatchObject({ output: 'a', exit_code: 3, limit: null });
  });

  it('has an environment that is built from nothing', async () => {
    process.env.PORTICO_METRICS_TOKEN = 'of the server';
    const { output } = await run('env', { variables: { GIVEN: 'by us', HOME: '/root' } });
    delete process.env.PORTICO_METRICS_TOKEN;
    const names = output
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    const allowed = [
      'GIVEN',
      'HOME',
      'LANG',
      // Where this machine's Node is given certificates of its own.
      'NODE_EXTRA_CA_CERTS',
      'PATH',
      'PWD',
      'TMPDIR',
      'npm_config_logs_max',
      'npm_config_update_notifier',
      'OLDPWD',
      'SHLVL',
      '_',
    ];
    expect(names.filter((name) => !allowed.includes(name ?? ''))).toEqual([]);
    expect(output).toMatch(/^HOME=.*\/home$/m);
  });

  it('has what npm cannot do in its output, which leads to no file that is gone by then', async () => {
    const { output, exit_code } = await run('npm run nothing');
    expect([exit_code === 0, output]).toEqual([false, expect.stringMatching(/^npm error .*package\.json/m)]);
    expect(output).not.toContain('debug-0.log');
  });

  it('has nothing to read, and no descriptor of the server', async () => {
    const { output } = await run('cat | wc -c; ls -l /proc/self/fd');
    const [bytes, , ...lines] = output.trim().split('\n');
    expect(bytes).toBe('0');
    const opened = lines.map((line) => line.split(' ').slice(-3).join(' '));
    expect(opened.filter((one) => !/^(0|\d+) -> \/dev\/null$|^[12] -> (socket|pipe):|-> \/proc\//.test(one))).toEqual(
      [],
    );
  });

  it('begins only once its process is known', async () => {
    const seen: string[] = [];
    const { output } = await run('echo begun', {
      onStart: async () => {
        await new Promise((resolve) => setTimeout(resolve, 200));
        seen.push('known');
      },
      onOutput: (chunk) => {
        seen.push(chunk.toString().trim());
        return undefined;
      },
    });
    expect([output, seen]).toEqual(['', ['known', 'begun']]);
  });
});

describe('limits', () => {
  it('end a command that hangs', async () => {
    const began = Date.now();
    expect(await run(longSleep(4711), { time: 500 })).toMatchObject({ limit: 'timeout', exit_code: null });
    expect(Date.now() - began).toBeLessThan(60_000);
    expect(await processesWith(longSleep(4711))).toEqual([]);
  });

  it('end one that does not heed SIGTERM with SIGKILL', async () => {
    const text = `trap '' TERM; while :; do sleep 0.1; done`;
    // bubblewrap itself heeds SIGTERM, and its namespace ends with it.
    const signal = workspace.isolation === 'bubblewrap' ? 'SIGTERM' : 'SIGKILL';
    expect(await run(text, { time: 300 })).toMatchObject({ limit: 'timeout', signal });
  });

  it('end one that takes more memory than it may; one below the limit goes on', async () => {
    const take = (size: number, seconds: number) =>
      `node -e "const b = Buffer.alloc(${size}e6, 1); setTimeout(() => console.log(b.length), ${seconds}e3)"`;
    expect(await run(take(30, 1.5))).toMatchObject({ limit: null, output: '30000000\n' });
    // As long as it takes to be seen.
    expect(await run(take(400, 120))).toMatchObject({ limit: 'memory', signal: 'SIGKILL' });
  });

  it('end one that forks without end, with all it forked', async () => {
    const text = `bomb() { bomb & bomb & sleep 0.05; }; bomb; ${longSleep(4712)}`;
    const end = await run(text, { time: 5_000 });
    // The watch ends it, unless the kernel has refused a fork before that and the shell has given up by itself.
    expect(end.limit ?? end.output).toMatch(/^(processes|timeout)$|fork/);
    expect(end.exit_code).not.toBe(0);
    expect(await processesWith(longSleep(4712))).toEqual([]);
    expect(await processesWith('bomb()')).toEqual([]);
    // What was killed counts for the limit of its user until the system has taken note of its end.
    const fork = Array(10).fill('true &').join(' ');
    await vi.waitFor(async () => expect((await run(`${fork} wait`)).output).toBe(''), 60_000);
  });

  it('end one that is not wanted any more', async () => {
    const stop = new AbortController();
    const text = `echo begun; ${longSleep(4713)}`;
    const onOutput = () => {
      stop.abort();
      return undefined;
    };
    expect(await run(text, { signal: stop.signal, onOutput })).toMatchObject({ limit: 'aborted' });
    expect(await processesWith(longSleep(4713))).toEqual([]);
  });
});

it('leaves nothing that a command started in the background, in a session of its own too', async () => {
  const sleeping = longSleep(4714);
  expect(await run(`${sleeping} & setsid ${sleeping} & (setsid ${sleeping} &) ; echo done`)).toMatchObject({
    exit_code: 0,
    output: 'done\n',
  });
  expect(await processesWith(longSleep(4714))).toEqual([]);
});

it('ends with its command, whatever still holds its output', async () => {
  const sleeping = longSleep(4716);
  expect(await run(`setsid ${sleeping} & echo done`)).toMatchObject({ exit_code: 0, output: 'done\n' });
  expect(await processesWith(sleeping)).toEqual([]);
});

it.runIf(process.getuid?.() === 0)(
  'leaves nothing that hides from it, and spares the other builds of the project',
  async () => {
    const other = await deployer.open({ deployment: 78, project });
    const [hidden, spared] = [longSleep(4717), longSleep(4718)];
    const stop = new AbortController();
    const running = other.run({
      text: `env -i ${spared} & setsid ${spared} & wait`,
      directory: '',
      variables: {},
      network: true,
      time: 120_000,
      signal: stop.signal,
      onOutput: () => undefined,
      onStart: async () => {},
    });
    // The shell that starts them has the words, too.
    await vi.waitFor(async () => expect(await processesWith(spared)).toHaveLength(3), 30_000);
    const text = `(env -i setsid sh -c '${hidden} & ${hidden} & exit' &); sleep 1; echo done`;
    expect(await run(text)).toMatchObject({ exit_code: 0, output: 'done\n' });
    expect(await processesWith(hidden)).toEqual([]);
    expect(await processesWith(spared)).toHaveLength(3);
    stop.abort();
    await running;
    await other.remove();
    expect(await processesWith(spared)).toEqual([]);
  },
);

it.runIf(process.getuid?.() === 0)(
  'started as root, runs commands as another user who cannot reach the server’s files',
  async () => {
    expect(workspace.isolation).not.toBe('process');
    const { output } = await run('id -u; cat /etc/shadow; touch /etc/written; ls /root 2>&1 | head -1');
    expect(output.split('\n')[0]).not.toBe('0');
    expect(output).not.toContain('root:');
    expect(output.match(/denied|Read-only/g)?.length).toBeGreaterThanOrEqual(2);
  },
);

it('clears away what an earlier attempt left running', async () => {
  const left = await deployer.open({ deployment: 77, project });
  const leader = await new Promise<ProcessName>((resolve) => {
    void left.run({
      text: `setsid ${longSleep(4715)}`,
      directory: '',
      variables: {},
      network: true,
      time: 60_000,
      signal: new AbortController().signal,
      onOutput: () => undefined,
      onStart: async (name) => resolve(name),
    });
  });
  expect(await deployer.standing(leader)).toBe('alive');
  await deployer.clear(77, leader);
  expect(await deployer.standing(leader)).toBe('gone');
  expect(await processesWith(longSleep(4715))).toEqual([]);
  expect(await deployer.workspaces()).toEqual([1]);
});

it('trusts the certificates that the server was given, and does without a file that cannot be read', async () => {
  const given = process.env.NODE_EXTRA_CA_CERTS;
  const roots = path.join(directory, 'given.pem');
  await writeFile(roots, 'of the server');
  const rootsOfBuild = async (file: string, deployment: number) => {
    process.env.NODE_EXTRA_CA_CERTS = file;
    const own = await deployer.open({ deployment, project });
    let output = '';
    try {
      await own.run({
        text: 'cat "$NODE_EXTRA_CA_CERTS"',
        directory: '',
        variables: {},
        network: false,
        time: 30_000,
        signal: new AbortController().signal,
        onOutput: (chunk) => {
          output += chunk.toString();
          return undefined;
        },
        onStart: async () => {},
      });
    } finally {
      await own.remove();
      if (given === undefined) delete process.env.NODE_EXTRA_CA_CERTS;
      else process.env.NODE_EXTRA_CA_CERTS = given;
    }
    return output;
  };
  expect(await rootsOfBuild(roots, 901)).toBe('of the server');
  expect(await rootsOfBuild(path.join(directory, 'none.pem'), 902)).not.toContain('of the server');
});
