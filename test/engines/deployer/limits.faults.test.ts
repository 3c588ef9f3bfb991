/**
 * What a build may take is measured for all that it starts, wherever it keeps it. Each limit is tried from both sides, by programs that are
 * bounded by themselves.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, lstat, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { firstUser, removeLeft, takeUserOf, writtenBy } from '../../../src/engines/deployer/build-users.ts';
import { createDeployer } from '../../../src/engines/deployer/deployer.ts';
import { keptByOthers } from '../../../src/engines/deployer/memory.ts';
import { isEnding } from '../../../src/engines/deployer/processes.ts';
import type { Command, Workspace } from '../../../src/ports/deployer.ts';
import { longSleep, processesWith } from '../../support/processes.ts';
import { mebibyte, runIn, sandboxesHere, testLimits, treeOf } from '../../support/sandboxes.ts';

const isRoot = process.getuid?.() === 0;
const project = randomUUID();
const { directory, usable } = await sandboxesHere();

/** A program that keeps something in memory, 16 MiB at a time, and then sleeps. Python, as Node has no calls for it. */
const keeps = (body: string, chunks: number, seconds: number) => {
  const program = `import ctypes, mmap, os, socket, sys, tempfile, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
chunk = bytes(16 << 20)
kept = []
count, seconds = ${chunks}, ${seconds}
def keep(fd):
    os.write(fd, chunk)
    kept.append(fd)
${body}
print("kept", flush=True)
time.sleep(seconds)`;
  return `exec python3 -c '${program}'`;
};

describe.each(usable)('limits by $kind', ({ kind, deployer }) => {
  let workspace: Workspace;
  /** Where its files lie. */
  let tree: string;
  beforeAll(async () => {
    workspace = await deployer.open({ deployment: 1, project });
    tree = await treeOf(directory, kind, 1);
    await mkdir(path.join(tree, 'site'));
    // From the first command on it is the build's.
    await runIn(workspace, 'true');
  });
  afterAll(() => workspace?.remove());
  const run = (text: string, more: Partial<Command> = {}) => runIn(workspace, text, more);

  it('spare what belongs to no user of builds', async () => {
    // The next ones on either side, who have nothing, not root: should all of a user be removed, the machine is as it was.
    for (const user of [firstUser - 1, firstUser + 4_336]) {
      await expect(removeLeft(user)).rejects.toThrow(RangeError);
      expect(await takeUserOf(user, 'portico-00000000')).toBe(null);
    }
  });

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
    // One thread: where builds have no user of their own, the limit of processes counts those of the tests beside this one, too, and a
    // program of many threads may not even begin.
    const program = `import time; kept = bytes([1]) * 400_000_000; print("kept", flush=True); time.sleep(120)`;
    const take = `env -i $(command -v setsid) $(command -v python3) -c '${program}'`;
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
    // Bounded by itself, whatever the limits do: so many processes, for at most so long.
    const bomb = (processes: number) => {
      const fork = `[ "$(id -u)" != 0 ] || exit 99; n=0; while [ $n -lt ${processes} ]; do ${longSleep(40)} & all="$all $!" n=$((n+1)); echo $n; done`;
      return `${fork}; kill $all; wait; echo all`;
    };
    const counted = (output: string) => Math.max(...(output.match(/^\d+$/gm) ?? ['0']).map(Number));
    expect(await run(bomb(20), { time: 60_000 })).toMatchObject({
      limit: null,
      output: expect.stringMatching(/^20\nall$/m),
    });
    const end = await run(bomb(400), { time: 60_000 });
    // The kernel refuses to fork and the shell gives up, or the watch ends it: time does not.
    if (end.limit === null) expect(end.output).toMatch(/fork/);
    else expect(end.limit).toBe('processes');
    expect(end.exit_code).not.toBe(0);
    // Where builds have no user of their own, what else that user runs may have ended meanwhile and left room.
    const most = isRoot ? testLimits.processes : 200;
    expect(counted(end.output)).toBeGreaterThanOrEqual(20);
    expect(counted(end.output)).toBeLessThanOrEqual(most);
    expect(await processesWith(longSleep(40))).toEqual([]);
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

  describe('count memory', () => {
    afterEach(async () => {
      if (isRoot) await removeLeft((await stat(tree)).uid);
    });
    /** Whether files in /dev/shm lie in memory: bubblewrap has the workspace there. */
    const hasShm = kind !== 'bubblewrap';
    const cases: { name: string; body: string; when?: boolean }[] = [
      {
        name: 'of memfds',
        body: 'for _ in range(count): keep(os.memfd_create("kept"))',
      },
      {
        name: 'of files in /dev/shm that are deleted and held open',
        body: `files = [tempfile.TemporaryFile(dir="/dev/shm") for _ in range(count)]
for file in files: keep(file.fileno())`,
        when: hasShm,
      },
      {
        name: 'of files in /dev/shm that have a name',
        body: `for _ in range(count):
    fd, name = tempfile.mkstemp(dir="/dev/shm")
    os.write(fd, chunk)
    os.close(fd)`,
        // As the server's own user they cannot be distinguished from the files of others.
        when: hasShm && isRoot,
      },
      {
        name: 'of files in /dev/shm below names that are no UTF-8',
        body: `for below in (b"\\xff-%s", b"kept-%s/\\xff"):
    directory = b"/dev/shm/" + below % os.urandom(8).hex().encode()
    os.makedirs(directory)
    for n in range(count // 2):
        with open(b"%s/%d" % (directory, n), "wb") as file: file.write(chunk)`,
        when: hasShm && isRoot,
      },
      {
        name: 'of files in /dev/shm whose paths are longer than the longest of the system',
        body: `os.chdir(tempfile.mkdtemp(dir="/dev/shm"))
for _ in range(25):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
for n in range(count):
    with open(str(n), "wb") as file: file.write(chunk)`,
        when: hasShm && isRoot,
      },
      {
        name: 'of shared mappings whose pages were given up',
        body: `for _ in range(count):
    kept.append(mmap.mmap(-1, len(chunk)))
    kept[-1][:] = chunk
    kept[-1].madvise(mmap.MADV_DONTNEED)`,
        // Only a privileged server may look at them.
        when: isRoot,
      },
      {
        name: 'of shared mappings',
        body: `for _ in range(count):
    kept.append(mmap.mmap(-1, len(chunk)))
    kept[-1][:] = chunk`,
      },
      {
        name: 'of System V segments that nothing has attached',
        body: `for _ in range(count):
    segment = libc.shmget(0, len(chunk), 0o1600)
    at = libc.shmat(segment, None, 0)
    ctypes.memset(at, 1, len(chunk))
    libc.shmdt(ctypes.c_void_p(at))`,
        // Those in namespaces of bubblewrap are only shown to root.
        when: isRoot || kind === 'namespace',
      },
      {
        name: 'of memfds that only a thread has, whose descriptors are its own',
        body: `def thread():
    libc.unshare(0x400)
    for _ in range(count): keep(os.memfd_create("kept"))
    time.sleep(60)
threading.Thread(target=thread, daemon=True).start()
while len(kept) < count: time.sleep(0.01)`,
      },
      {
        name: 'of a process whose first thread has ended',
        body: `def thread():
    for _ in range(count): kept.append(bytearray(b"1") * (16 << 20))
    print("kept", flush=True)
    time.sleep(seconds)
    os._exit(0)
threading.Thread(target=thread).start()
libc.syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)`,
      },
    ];
    const few = Math.floor((testLimits.memory / mebibyte - 30) / 16);
    const many = Math.ceil((testLimits.memory / mebibyte + 10) / 16);

    for (const { name, body } of cases.filter(({ when = true }) => when)) {
      it(name, async () => {
        const take = (chunks: number, seconds: number) => run(keeps(body, chunks, seconds), { time: 60_000 });
        expect(await take(few, 0.5)).toMatchObject({ limit: null, exit_code: 0, output: 'kept\n' });
        expect(await take(many, 50)).toMatchObject({ limit: 'memory' });
      });
    }

    it('of memfds of a process that shows its descriptors to root alone', async () => {
      const body = `libc.prctl(4, 0, 0, 0, 0)
for _ in range(count): keep(os.memfd_create("kept"))`;
      const end = await run(keeps(body, many, 50), { time: 60_000 });
      expect(end).toMatchObject({ limit: isRoot ? 'memory' : 'hidden' });
    });

    it('of file systems in memory that a build mounts', async (context) => {
      const own = 'unshare --user --map-root-user --mount';
      const { exit_code } = await run(`${own} mount -t tmpfs none ../../tmp`);
      // Where a build cannot mount there is nothing to count; bubblewrap without user namespaces inside is such a place.
      if (exit_code !== 0) return context.skip('builds cannot mount here');
      // A directory whose name is longer in UTF-8 than in characters.
      const write = (chunks: number, seconds: number) =>
        `mkdir -p ../../tmp/é; exec ${own} sh -c 'cd ../../tmp && mount -t tmpfs none é && for n in $(seq ${chunks}); do head -c 16777216 /dev/zero > é/$n; done; sleep ${seconds}'`;
      expect(await run(write(few, 0.5))).toMatchObject({ limit: null, exit_code: 0 });
      expect(await run(write(many, 50), { time: 60_000 })).toMatchObject({ limit: 'memory' });
    });

    it('once where processes share it', async () => {
      // Eight forks map a memfd. Some kernels count zeroes that were read as a process's own, so none are left to the forks.
      const body = `for _ in range(count):
    keep(os.memfd_create("kept"))
    kept.append(mmap.mmap(kept[-1], len(chunk)))
    kept[-1][:] = chunk
chunk = None
for _ in range(8):
    if os.fork() == 0:
        for one in kept:
            if not isinstance(one, int): bytes(one[::4096])
        time.sleep(0.5)
        os._exit(0)`;
      expect(await run(keeps(body, 3, 1))).toMatchObject({ limit: null, exit_code: 0 });
    });

    it.runIf(isRoot && hasShm)('of files in a directory that another build opens to it for a moment', async () => {
      const other = await deployer.open({ deployment: 2, project: randomUUID() });
      await mkdir(path.join(await treeOf(directory, kind, 2), 'site'));
      const shared = `/dev/shm/shared-${kind}-${process.pid}`;
      const until = (test: string) => `n=0; until ${test} || [ $((n += 1)) -gt 300 ]; do sleep 0.2; done`;
      const stop = new AbortController();
      const opens = `umask 0; mkdir -p ${shared}/x/y; ${until(`[ -e ${shared}/x/y/in ]`)}; chmod 700 ${shared}; ${longSleep(4723)}`;
      const opening = runIn(other, opens, { time: 120_000, signal: stop.signal });
      const fills = `${until(`cd ${shared}/x/y`)}; : > in; ${until(`! ls ${shared}`)}; for n in $(seq ${many}); do head -c 16777216 /dev/zero > $n; done; sleep 50`;
      expect(await run(fills, { time: 120_000 })).toMatchObject({ limit: 'memory' });
      stop.abort();
      expect(await opening).toMatchObject({ limit: 'aborted' });
      await other.remove();
      await expect(stat(shared)).rejects.toThrow('ENOENT');
    });

    it.runIf(isRoot && kind === 'plain')(
      'which goes with its user from a directory of another build, too',
      async () => {
        const [uid, another] = [firstUser + 4_000, firstUser + 4_001];
        const shared = `/dev/shm/shared-${process.pid}`;
        await mkdir(`${shared}/x`, { recursive: true });
        await writeFile(`${shared}/x/left`, '');
        await writeFile(`${shared}/x/kept`, '');
        await chown(`${shared}/x/left`, uid, uid);
        for (const name of [shared, `${shared}/x`, `${shared}/x/kept`]) await chown(name, another, another);
        await chmod(shared, 0o700);
        expect(await writtenBy(uid)).toMatchObject({ files: 1 });
        await removeLeft(uid);
        expect(await readdir(`${shared}/x`)).toEqual(['kept']);
        await removeLeft(another);
        await expect(stat(shared)).rejects.toThrow('ENOENT');
      },
    );

    it.runIf(isRoot && kind === 'plain')('which goes with the user of the build', async () => {
      const { uid } = await stat(tree);
      const left = keeps('libc.shmget(0, 4096, 0o1600); tempfile.mkstemp(dir="/dev/shm")', 1, 0);
      expect(await run(left)).toMatchObject({ limit: null, exit_code: 0 });
      const segments = async () =>
        (await readFile('/proc/sysvipc/shm', 'latin1')).match(new RegExp(` ${uid} `, 'g')) ?? [];
      expect([(await segments()).length > 0, (await writtenBy(uid, ['/dev/shm'])).files]).toEqual([true, 1]);
      await removeLeft(uid);
      expect([await segments(), await writtenBy(uid)]).toEqual([[], { bytes: 0, files: 0 }]);
    });

    describe('that nothing shows', () => {
      let strict: Workspace;
      beforeAll(async () => {
        const place = path.join(directory, `strict-${kind}`);
        const limits = { ...testLimits, otherMemory: 256 * mebibyte };
        const options = { directory: place, dataDirectory: path.join(directory, 'data'), strict: false };
        strict = await createDeployer({ ...options, limits, kinds: [kind] }).open({ deployment: 1, project });
        const [name = ''] = (await readdir(place)).filter((one) => one.startsWith('1-'));
        await mkdir(path.join(place, name, 'tree/site'));
      });
      afterAll(() => strict?.remove());
      /** More than the limit and what other software may take, by what is less than a test may. */
      const most = 40;
      const take = (body: string) => runIn(strict, keeps(body, most, 50), { time: 60_000 });

      it('of memfds that are on their way', async () => {
        const body = `queue = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for n in range(count):
    fd = os.memfd_create("sent")
    os.write(fd, chunk)
    if n % 5 == 0:
        queue = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        kept.append(queue)
    socket.send_fds(queue[0], [b"x"], [fd])
    os.close(fd)`;
        expect(await take(body)).toMatchObject({ limit: 'unexplained' });
      });

      it.each(['tmpfs', 'ramfs'])('of a %s whose namespace has ended', async (type) => {
        const body = `ours, theirs = socket.socketpair()
os.makedirs("t", exist_ok=True)
user, group = os.getuid(), os.getgid()
if os.fork() == 0:
    if libc.unshare(0x10020000) != 0: os._exit(1)
    open("/proc/self/setgroups", "w").write("deny")
    open("/proc/self/uid_map", "w").write("0 %d 1" % user)
    open("/proc/self/gid_map", "w").write("0 %d 1" % group)
    if libc.mount(b"none", b"t", b"${type}", 0, None) == 0: socket.send_fds(theirs, [b"x"], [os.open("t", os.O_RDONLY)])
    os._exit(0)
theirs.close()
_, found, _, _ = socket.recv_fds(ours, 1, 1)
os.wait()
if not found: sys.exit("not mounted")
for n in range(count):
    fd = os.open("%d" % n, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=found[0])
    os.write(fd, chunk)
    os.close(fd)`;
        const end = await take(body);
        if (end.exit_code === 1) expect(end.output).toContain('not mounted');
        else expect(end).toMatchObject({ limit: 'unexplained' });
      });
    });

    it('of nothing that has ended', async () => {
      expect(await processesWith('kept.append')).toEqual([]);
    });
  });

  it('know what users without builds have mapped', async () => {
    const user = process.getuid?.() ?? 0;
    const program = `import mmap, time
kept = mmap.mmap(-1, 256 << 20)
kept[:] = bytes(1) * len(kept)
print("mapped", flush=True)
time.sleep(60)`;
    const other = spawn('python3', ['-c', program], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      await once(other.stdout, 'data');
      const known = await keptByOthers(new Set());
      expect(known).toBeGreaterThanOrEqual(256 * mebibyte);
      expect(await keptByOthers(new Set([user]))).toBeLessThan(known - 200 * mebibyte);
    } finally {
      other.kill();
    }
  });

  it('pass over a process that is about to end, whose descriptors are closed to all but root', async () => {
    // A zombie: nothing waits for it.
    const parent = spawn('sh', ['-c', 'true & echo $!; exec sleep 60']);
    const [pid] = await once(parent.stdout, 'data');
    await vi.waitFor(() => expect(isEnding(`/proc/${Number(pid)}`)).toBe(true), 30_000);
    parent.kill();
    expect([isEnding('/proc/self'), isEnding('/proc/4194305')]).toEqual([false, true]);
  });

  it('end one that holds too many files open', async () => {
    const open = (count: number, seconds: number) =>
      `ulimit -n 1000; exec python3 -c 'import os, time
for _ in range(2):
    if os.fork() == 0:
        kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(${count})] + [os.memfd_create("few")]
        os.write(kept[-1], bytes(16 << 20))
        time.sleep(${seconds})
        os._exit(0)
os.wait(); os.wait()'`;
    expect(await run(open(700, 0.5))).toMatchObject({ limit: null, exit_code: 0 });
    expect(await run(open(900, 50), { time: 60_000 })).toMatchObject({ limit: 'descriptors' });
  });

  describe('count on the disk', () => {
    let cache: string;
    beforeAll(async () => {
      cache = await workspace.cache('k');
    });
    afterEach(async () => {
      if (isRoot) await removeLeft((await stat(tree)).uid);
      for (const name of await readdir(path.join(tree, 'site')))
        await rm(path.join(tree, 'site', name), { recursive: true });
    });
    const fill = (file: string) => `head -c ${15 * mebibyte} /dev/zero > ${file}`;
    const wait = 'sleep 50';
    const ended = (text: string) => run(`${text}; ${wait}`, { cache, time: 60_000 });

    it('the sum of files', async () => {
      expect(await run(`${fill('a')}; sleep 0.5`)).toMatchObject({ limit: null, exit_code: 0 });
      expect(await ended(`${fill('a')}; ${fill('b')}`)).toMatchObject({ limit: 'workspace' });
    });

    it('files that are deleted and held open', async () => {
      const hold = (descriptor: number) =>
        `exec ${descriptor}>held; rm held; head -c ${15 * mebibyte} /dev/zero >&${descriptor}`;
      expect(await run(`${hold(3)}; sleep 0.5`)).toMatchObject({ limit: null, exit_code: 0 });
      expect(await ended(`${hold(3)}; ${hold(4)}`)).toMatchObject({ limit: 'workspace' });
    });

    // What is closed to its owner is closed to a server that runs as the owner, too.
    const closed = isRoot ? 'workspace' : 'unmeasured';
    const close = `mkdir big; chmod 300 big; ${fill('big/a')}; ${fill('big/b')}`;

    it('files in a directory that their owner may not read', async () => {
      expect(await ended(close)).toMatchObject({ limit: closed });
      await chmod(path.join(tree, 'site/big'), 0o700);
    });

    it('files in such a directory of the package cache, and empty that', async () => {
      expect(await ended(`cd "$(dirname "$npm_config_cache")"; ${close}`)).toMatchObject({ limit: closed });
      expect(await readdir(cache)).toEqual([]);
    });

    it('the package cache by itself, and empty one that is too large', async () => {
      const into = (name: string) => `mkdir -p "$npm_config_cache"; ${fill(`"$npm_config_cache/${name}"`)}`;
      expect(await run(`${into('a')}; ${fill('a')}; sleep 0.5`, { cache })).toMatchObject({
        limit: null,
        exit_code: 0,
      });
      await rm(path.join(tree, 'site/a'));
      expect(await ended(into('b'))).toMatchObject({ limit: 'workspace' });
      expect(await readdir(cache)).toEqual([]);
    });

    it('the package cache, and empty one that is closed to its owner, but open nothing that a link in it leads to', async () => {
      const kept = path.join(directory, `kept-${kind}`);
      await writeFile(kept, 'kept');
      await chmod(kept, 0o444);
      const close = 'cd "$(dirname "$npm_config_cache")"; chmod 711 .; ln -s "$KEPT" link; mkdir npm';
      const text = `${close}; ${fill('npm/a')}; ${fill('npm/b')}; chmod 555 .; ${wait}`;
      expect(await run(text, { cache, time: 60_000, variables: { KEPT: kept } })).toMatchObject({ limit: 'workspace' });
      expect(await readdir(cache)).toEqual([]);
      expect((await stat(kept)).mode & 0o777).toBe(0o444);
      expect(await run('touch "$(dirname "$npm_config_cache")/again"', { cache })).toMatchObject({ exit_code: 0 });
    });

    it.runIf(isRoot && kind !== 'bubblewrap').each(['/tmp', '/var/tmp'])('what is written to %s', async (below) => {
      const into = `d=$(mktemp -d -p ${below})`;
      expect(await run(`${into}; ${fill('$d/a')}; sleep 0.5; rm -r $d`)).toMatchObject({ limit: null, exit_code: 0 });
      expect(await ended(`${into}; ${fill('$d/a')}; ${fill('$d/b')}`)).toMatchObject({ limit: 'workspace' });
    });

    it.runIf(isRoot && kind !== 'bubblewrap')('what is written to names that are no UTF-8, and remove it', async () => {
      const { uid } = await stat(tree);
      const into = `d="/var/tmp/$(printf '\\377')-$(date +%s%N)"; mkdir "$d"`;
      expect(await ended(`${into}; ${fill('"$d/a"')}; ${fill('"$d/b"')}`)).toMatchObject({ limit: 'workspace' });
      const left = async () => {
        const names = await readdir('/var/tmp', 'buffer');
        const files = names.map((name) => Buffer.concat([Buffer.from('/var/tmp/'), name]));
        const states = await Promise.all(files.map((file) => lstat(file).catch(() => null)));
        return states.filter((state) => state?.uid === uid).length;
      };
      expect(await left()).toBe(1);
      await removeLeft(uid);
      expect(await left()).toBe(0);
    });

    it('how many files there are', async () => {
      const make = (count: number) => `mkdir made; cd made; seq ${count} | xargs touch`;
      expect(await run(`${make(1_300)}; sleep 0.5`)).toMatchObject({ limit: null, exit_code: 0 });
      await rm(path.join(tree, 'site/made'), { recursive: true });
      expect(await ended(make(1_700))).toMatchObject({ limit: 'files' });
    });
  });
});
