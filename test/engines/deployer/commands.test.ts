import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Command, CommandEnd, ProcessName, Workspace } from '../../../src/domain/ports/deployer.ts';
import { createDeployer } from '../../../src/engines/deployer/deployer.ts';
import { allProcesses, familyOf } from '../../../src/engines/deployer/processes.ts';
import { type SandboxKind, sandboxKinds } from '../../../src/engines/deployer/sandbox.ts';
import { longSleep, processesWith } from '../../support/processes.ts';

const mebibyte = 1024 * 1024;
const isRoot = process.getuid?.() === 0;
const project = randomUUID();
const directory = await realpath(await mkdtemp(path.join(tmpdir(), 'portico-deployer-')));
await chmod(directory, 0o711);
afterAll(() => rm(directory, { recursive: true, force: true }));

const limits = { memory: 150 * mebibyte, processes: 40, workspace: 20 * mebibyte };
const deployerOf = (kind: SandboxKind) =>
  createDeployer({
    directory: path.join(directory, kind),
    dataDirectory: path.join(directory, 'data'),
    strict: false,
    limits,
    kinds: [kind],
  });
const known = await Promise.all(
  sandboxKinds.map(async (kind) => {
    const deployer = deployerOf(kind);
    return { kind, deployer, found: await deployer.isolation() };
  }),
);
const required = (process.env.PORTICO_TEST_SANDBOXES ?? '').split(',');
const usable = known.flatMap(({ kind, deployer, found }) => ('level' in found ? [{ kind, deployer }] : []));

// What this machine cannot have is named; where it has to be there, as in CI, it fails.
for (const { kind, found } of known) {
  if (!('refused' in found)) continue;
  it(`runs commands by ${kind}: ${found.refused}`, (context) => {
    if (required.includes(kind)) throw new Error(found.refused);
    context.skip(found.refused);
  });
}

describe.each(usable)('by $kind', ({ kind, deployer }) => {
  let workspace: Workspace;
  /** Where its files lie. */
  let tree: string;
  beforeAll(async () => {
    workspace = await deployer.open({ deployment: 1, project });
    const name = (await readdir(path.join(directory, kind))).find((one) => one.startsWith('1-')) ?? '';
    tree = path.join(directory, kind, name, 'tree');
    async function* files() {
      yield { path: 'site/a.txt', kind: 'file' as const, content: Buffer.from('a') };
      const preloaded = "console.log('preloaded into', process.execArgv.join(' '), process.argv.slice(1).join(' '));";
      yield { path: 'site/evil.cjs', kind: 'file' as const, content: Buffer.from(preloaded) };
    }
    await workspace.write(files());
  });
  afterAll(() => workspace?.remove());

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
    it('runs in its directory and reports its end', async () => {
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

    const hostile = {
      LD_PRELOAD: './evil.so',
      LD_LIBRARY_PATH: '.',
      LD_AUDIT: './evil.so',
      BASH_ENV: './evil.sh',
      ENV: './evil.sh',
      IFS: '/',
      NODE_OPTIONS: '--require=./evil.cjs',
      GIT_DIR: './evil.git',
      GIT_EXEC_PATH: '.',
      GIT_SSH_COMMAND: './evil.sh',
      PATH: './evil',
      HOME: '/root',
    };

    it('alone has the variables of a build: what starts it and closes it in has an environment of ours', async () => {
      const stop = new AbortController();
      const environments: { line: string; names: string[] }[] = [];
      const text = `echo begun; ${longSleep(4720)} & wait`;
      let leader = 0;
      await run(text, {
        variables: { ...hostile, GIVEN: 'by us' },
        signal: stop.signal,
        onStart: async (name) => {
          leader = name.pid;
        },
        onOutput: (chunk) => {
          if (!chunk.toString().includes('begun')) return undefined;
          return (async () => {
            for (const { pid } of familyOf(await allProcesses(), new Set([leader]))) {
              const line = (await readFile(`/proc/${pid}/cmdline`, 'latin1')).replaceAll('\0', ' ');
              const environment = (await readFile(`/proc/${pid}/environ`, 'latin1')).split('\0');
              const names = environment.map((one) => one.split('=')[0] ?? '').filter((name) => name !== '');
              environments.push({ line, names });
            }
            stop.abort();
          })();
        },
      });
      const own = environments.filter(({ line }) => line.includes(longSleep(4720)));
      expect(own.length).toBeGreaterThan(0);
      for (const { names } of own)
        expect(names).toEqual(expect.arrayContaining(['LD_PRELOAD', 'GIVEN', 'NODE_OPTIONS']));
      const others = environments.filter(({ line }) => !line.includes(longSleep(4720)));
      // By itself a command has nothing above it: the programs before it have become it.
      expect(others.length > 0).toBe(kind !== 'plain');
      const shell = ['PWD', 'OLDPWD', 'SHLVL', '_'];
      for (const { names } of others)
        expect(names.filter((name) => !shell.includes(name)).sort()).toEqual(['HOME', 'LANG', 'PATH']);
    });

    it('is what the loader first obeys variables of a build for', async () => {
      // ld.so(8) writes a file for each program that it starts with these.
      const variables = { LD_DEBUG: 'files', LD_DEBUG_OUTPUT: path.join(tree, 'site/loaded') };
      expect(await run('cat a.txt', { variables })).toMatchObject({ exit_code: 0, output: 'a' });
      const programs = new Set<string>();
      for (const name of (await readdir(path.join(tree, 'site'))).filter((one) => one.startsWith('loaded'))) {
        const log = await readFile(path.join(tree, 'site', name), 'latin1');
        for (const [, program = ''] of log.matchAll(/initialize program: (\S+)/g)) programs.add(program);
      }
      const hasGlibc = 'glibcVersionRuntime' in (process.report.getReport() as { header: object }).header;
      expect([...programs].sort()).toEqual(hasGlibc ? ['/bin/sh', 'cat'] : []);
    });

    it('is the first program that Node’s options apply to', async () => {
      const { output } = await run('node -p 1; echo end', { variables: { NODE_OPTIONS: '--require=./evil.cjs' } });
      expect(output).toBe('preloaded into -p 1 \n1\nend\n');
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

    it('end one that ignores SIGTERM with SIGKILL', async () => {
      const text = `trap '' TERM; echo begun; while :; do sleep 0.1; done`;
      // bubblewrap itself ends at SIGTERM, and its namespace with it.
      const signal = kind === 'bubblewrap' ? 'SIGTERM' : 'SIGKILL';
      const stop = new AbortController();
      const onOutput = () => {
        stop.abort();
        return undefined;
      };
      expect(await run(text, { signal: stop.signal, onOutput })).toMatchObject({ limit: 'aborted', signal });
    });

    it('end one that takes more memory than it may; one below the limit goes on', async () => {
      const take = (size: number, seconds: number) =>
        `node -e "const b = Buffer.alloc(${size}e6, 1); setTimeout(() => console.log(b.length), ${seconds}e3)"`;
      expect(await run(take(30, 1.5))).toMatchObject({ limit: null, output: '30000000\n' });
      // As long as it takes to be seen.
      expect(await run(take(400, 120))).toMatchObject({ limit: 'memory', signal: 'SIGKILL' });
    });

    it('count the memory of what has left its group, session and environment', async () => {
      const take = `env -i $(command -v setsid) $(command -v node) -e "Buffer.alloc(400e6, 1); setTimeout(() => {}, 120e3)"`;
      expect(await run(`(${take} &); ${longSleep(4719)}`)).toMatchObject({ limit: 'memory' });
    });

    it('end a file at the size a workspace may have', async () => {
      const write = (size: number) => `dd if=/dev/zero of=../big bs=1024 count=${size} 2>/dev/null`;
      expect(await run(write(20 * 1024))).toMatchObject({ exit_code: 0, limit: null });
      await rm(path.join(tree, 'big'));
      const { exit_code, signal } = await run(write(20 * 1024 + 1));
      expect([exit_code === 0, exit_code === null && signal === null]).toEqual([false, false]);
      expect((await stat(path.join(tree, 'big'))).size).toBe(20 * mebibyte);
      await rm(path.join(tree, 'big'));
    });

    it('end one that forks without end, with all it forked', async () => {
      // Proves the guard before the attack: uid 0 is exempt from RLIMIT_NPROC (getrlimit(2)).
      const { output: guard } = await run('cat /proc/self/status /proc/self/limits');
      expect(guard).toMatch(/^Uid:\s+[1-9]\d*\s+[1-9]\d*\s/m);
      expect(guard).toMatch(/^Max processes\s+\d+\s+\d+\s/m);
      // Bounded by itself, whatever the limits do: eight generations are 511 shells with a sleep each, for at most 50 s.
      const generations = 'bomb() { [ "$1" = 0 ] || { bomb $(($1-1)) & bomb $(($1-1)) & }; sleep 50; }';
      const text = `[ "$(id -u)" != 0 ] || exit 99; ${generations}; bomb 8`;
      const end = await run(text, { time: 5_000 });
      // The watch ends it, unless the kernel has refused a fork before that and the shell has given up by itself.
      expect(end.limit ?? end.output).toMatch(/^(processes|timeout)$|fork/);
      expect(end.exit_code).not.toBe(0);
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

  it('leaves nothing that hides from it, and spares the other builds of the project', async () => {
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
    const text = `(env -i setsid sh -c '(${hidden} & ${hidden} &) & exit' &); sleep 1; echo done`;
    expect(await run(text)).toMatchObject({ exit_code: 0, output: 'done\n' });
    expect(await processesWith(hidden)).toEqual([]);
    expect(await processesWith(spared)).toHaveLength(3);
    stop.abort();
    await running;
    await other.remove();
    expect(await processesWith(spared)).toEqual([]);
  });

  it.runIf(isRoot || kind !== 'plain')('leaves nothing that has changed its limits, too', async () => {
    const hidden = longSleep(4721);
    const text = `(ulimit -t 60; env -i setsid sh -c '(${hidden} &) & exit' &); sleep 1; echo done`;
    expect(await run(text)).toMatchObject({ exit_code: 0, output: 'done\n' });
    expect(await processesWith(hidden)).toEqual([]);
  });

  it.runIf(isRoot)('leaves nothing that takes the mark and the home of another server’s build', async () => {
    const other = await mkdtemp('/var/tmp/portico-other-');
    const home = `${other}-00000000`;
    await mkdir(home);
    await writeFile(path.join(home, 'f'), '');
    try {
      const hidden = longSleep(4722);
      // The lowest of marks, as its directory says.
      const forge = `ulimit -t 1000000000; exec env -i HOME=${home}/home setsid sh -c '(${hidden} <&- >&- 2>&- &) & exit'`;
      expect(await run(`(${forge} &); sleep 1; echo done`)).toMatchObject({ exit_code: 0, output: 'done\n' });
      expect(await processesWith(hidden)).toEqual([]);
    } finally {
      await rm(other, { recursive: true });
      await rm(home, { recursive: true });
    }
  });

  it.runIf(isRoot)(
    'has a user that no other build has, and a cache that only one build at a time writes to',
    async () => {
      const other = await deployer.open({ deployment: 79, project });
      const users = new Set<string>();
      const writes = async (one: Workspace, cache: string) => {
        let output = '';
        await one.run({
          text: 'id -u; mkdir -p "$npm_config_cache" && echo x >> "$npm_config_cache/x" && wc -l < "$npm_config_cache/x"',
          directory: '',
          variables: {},
          cache,
          network: true,
          time: 30_000,
          signal: new AbortController().signal,
          onOutput: (chunk) => {
            output += chunk.toString();
            return undefined;
          },
          onStart: async () => {},
        });
        const [user = '', lines = ''] = output.trim().split('\n');
        users.add(user);
        return lines;
      };
      const first = await other.cache('k');
      expect(await writes(other, first)).toBe('1');
      const second = await deployer.open({ deployment: 80, project });
      const own = await second.cache('k');
      expect(own).not.toBe(first);
      expect(await writes(second, own)).toBe('1');
      expect(users.size).toBe(2);
      await other.remove();
      const third = await deployer.open({ deployment: 81, project });
      expect(await third.cache('k')).toBe(first);
      expect(await writes(third, first)).toBe('2');
      await second.remove();
      await third.remove();
    },
  );

  it.runIf(kind === 'bubblewrap')('can write to its workspace alone, whose size is measured', async () => {
    const { output } = await run(
      'echo a > /tmp/in-tmp; echo b > /dev/shm/in-shm; for d in /dev /root /home /var/tmp /usr; do test -e $d && echo x > $d/x; done',
    );
    expect(output.match(/Read-only file system|Permission denied|cannot create/g)?.length).toBeGreaterThanOrEqual(3);
    expect(await readdir(path.join(tree, '../tmp'))).toContain('in-tmp');
    expect(await readdir(path.join(tree, '../shm'))).toContain('in-shm');
  });

  it.runIf(isRoot)('started as root, runs commands as another user who cannot reach the server’s files', async () => {
    expect(workspace.isolation).not.toBe('process');
    const { output } = await run('id -u; cat /etc/shadow; touch /etc/written; ls /root 2>&1 | head -1');
    expect(output.split('\n')[0]).not.toBe('0');
    expect(output).not.toContain('root:');
    expect(output.match(/denied|Read-only/g)?.length).toBeGreaterThanOrEqual(2);
  });

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
});
