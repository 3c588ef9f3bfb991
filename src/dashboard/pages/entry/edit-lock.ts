/**
 * One tab at a time edits an entry (Web Locks API), as two would write one local draft. The second is read-only until it takes the entry over: the
 * first writes down what it has, and lets go. Where the browser has no locks, as on plain http, each tab edits.
 */

/** Locks that this tab lets go of, by name: they are released a little later than that, and would refuse its own next request. */
const ending = new Map<string, Promise<void>>();

interface EditLock {
  /** Takes the entry over from the tab that has it. */
  take: () => void;
  release: () => void;
}

/** @param onChange whether this tab has the entry; @param beforeHandover writes down what was typed */
export function openEditLock(
  name: string,
  onChange: (isHeld: boolean) => void,
  beforeHandover: () => Promise<void>,
): EditLock {
  const { locks } = navigator as { locks?: LockManager };
  if (!locks) {
    onChange(true);
    return { take: () => {}, release: () => {} };
  }
  const channel = new BroadcastChannel(name);
  let end: (() => void) | null = null;
  let isClosed = false;
  /** Settles when the lock that was requested last is released. */
  let released = Promise.resolve();
  const hold = (): Promise<void> => {
    if (isClosed) return Promise.resolve();
    onChange(true);
    const { promise, resolve } = Promise.withResolvers<void>();
    end = resolve;
    return promise;
  };
  const lose = () => {
    end = null;
    if (!isClosed) onChange(false);
  };
  const request = (options: LockOptions) => {
    released = locks.request(name, options, (lock) => (lock === null ? lose() : hold())).then(lose, lose);
    return released;
  };
  channel.onmessage = async () => {
    if (end === null) return;
    const written = beforeHandover();
    onChange(false);
    await written;
    end?.();
  };
  void Promise.resolve(ending.get(name)).then(() => (isClosed ? undefined : request({ ifAvailable: true })));
  return {
    take: () => {
      channel.postMessage('take');
      // A tab that was killed or hangs lets go of nothing by itself.
      const controller = new AbortController();
      const late = setTimeout(() => controller.abort(), 1500);
      released = locks
        .request(name, { signal: controller.signal }, () => {
          clearTimeout(late);
          return hold();
        })
        .then(lose, () => (isClosed ? undefined : request({ steal: true })));
    },
    release: () => {
      isClosed = true;
      end?.();
      const ended = released.then(() => {
        if (ending.get(name) === ended) ending.delete(name);
      });
      ending.set(name, ended);
      channel.close();
    },
  };
}
