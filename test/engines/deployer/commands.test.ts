import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findLeavesOut, wholeOutput, writtenBy } from '../../../src/engines/deployer/build-users.ts';
import { allProcesses, familyOf } from '../../../src/engines/deployer/processes.ts';
import type { Command, ProcessName, Workspace } from '../../../src/ports/deployer.ts';
import { longSleep, processesWith } from '../../support/processes.ts';
import { runIn, sandboxesHere, treeOf } from '../../support/sandboxes.ts';

const isRoot = process.getuid?.() === 0;
const project = randomUUID();
const { directory, usable } = await sandboxesHere();

describe.each(usable)('by $kind', ({ kind, deployer }) => {
  let workspace: Workspace;
  /** Where its files lie. */
  let tree: string;
  beforeAll(async () => {
    workspace = await deployer.open({ deployment: 1, project });
    tree = await treeOf(directory, kind, 1);
    async function* files() {
      yield { path: 'site/a.txt', kind: 'file' as const, content: Buffer.from('a') };
      const preloaded = "console.log('preloaded into', process.execArgv.join(' '), process.argv.slice(1).join(' '));";
      yield { path: 'site/evil.cjs', kind: 'file' as const, content: Buffer.from(preloaded) };
    }
    await workspace.write(files());
  });
  afterAll(() => workspace?.remove());

  const run = (text: string, more: Partial<Command> = {}) => runIn(workspace, text, more);

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
        const text =
          'id -u; mkdir -p "$npm_config_cache" && echo x >> "$npm_config_cache/x" && wc -l < "$npm_config_cache/x"';
        const { output } = await runIn(one, text, { directory: '', cache });
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

  it.runIf(isRoot && kind === 'plain')('leaves no file where everyone may write', async () => {
    const other = await deployer.open({ deployment: 82, project });
    const { output } = await runIn(other, 'for n in $(seq 900); do : > "/var/tmp/left-$$-$n"; done; id -u', {
      directory: '',
    });
    expect(await writtenBy(Number(output), ['/var/tmp'])).toMatchObject({ files: 900 });
    await other.remove();
    expect(await writtenBy(Number(output), ['/var/tmp'])).toMatchObject({ files: 0 });
  });

  it('clears away paths of any length, and directories closed to their owner', async () => {
    const left = await deployer.open({ deployment: 78, project });
    const deep = 'd=$(printf "d%.0s" $(seq 200)); for i in $(seq 60); do mkdir $d && cd $d || break; done';
    const run = (text: string) =>
      left.run({
        ...{ text, directory: '', variables: {}, network: true, time: 60_000, onOutput: () => undefined },
        onStart: async () => {},
        signal: new AbortController().signal,
      });
    expect(await run(`mkdir closed && echo x > closed/x && chmod 555 closed && ${deep}`)).toMatchObject({
      exit_code: 0,
    });
    await left.remove();
    expect(await deployer.workspaces()).toEqual([1]);
  });

  it('trusts the certificates that the server was given, and does without a file that cannot be read', async () => {
    const given = process.env.NODE_EXTRA_CA_CERTS;
    const roots = path.join(directory, 'given.pem');
    await writeFile(roots, 'of the server');
    const rootsOfBuild = async (file: string, deployment: number) => {
      process.env.NODE_EXTRA_CA_CERTS = file;
      const own = await deployer.open({ deployment, project });
      try {
        return (await runIn(own, 'cat "$NODE_EXTRA_CA_CERTS"', { directory: '', network: false })).output;
      } finally {
        await own.remove();
        if (given === undefined) delete process.env.NODE_EXTRA_CA_CERTS;
        else process.env.NODE_EXTRA_CA_CERTS = given;
      }
    };
    expect(await rootsOfBuild(roots, 901)).toBe('of the server');
    expect(await rootsOfBuild(path.join(directory, 'none.pem'), 902)).not.toContain('of the server');
  });
});

describe('a program that measures what builds have', () => {
  it('leaves something out by errors of its own, not by names of files in them', async () => {
    const outputWith = (...errors: string[]) => {
      const words = errors.map((error) => `'${error.replaceAll("'", `'\\''`)}'`).join(' ');
      return wholeOutput('sh', ['-c', `printf '%s\\n' ${words} >&2; echo whole`], findLeavesOut);
    };
    const gone = "find: '/tmp/find: failed to read': No such file or directory";
    expect(await outputWith(gone)).toBe('whole\n');
    const own = 'find: failed to read file names from file system at or below';
    expect(await outputWith(`${own} '/tmp': No such file or directory`)).toBeNull();
    expect(await outputWith(...Array<string>(40).fill(gone), own)).toBeNull();
  });

  it('finds nothing without a file descriptor that is left, and the process goes on', async () => {
    const script = `
      import { openSync } from 'node:fs';
      import { wholeOutput } from ${JSON.stringify(path.resolve('src/engines/deployer/build-users.ts'))};
      try { for (;;) openSync('/dev/null', 'r'); } catch {}
      console.log(await wholeOutput('find', ['/tmp'], /x/));
      await new Promise((resolve) => setTimeout(resolve, 100));`;
    const limited = ['-c', 'ulimit -n 100; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', script];
    expect((await promisify(execFile)('/bin/sh', limited)).stdout).toBe('null\n');
  });
});
