/** Unwrapped data keys by id. */
export interface KeyCache {
  /**
   * Uses the key, from memory or by `load`; callers that miss at the same time share one load. `use` is synchronous, because the
   * bytes may be wiped as soon as it returns.
   */
  with<T>(id: string, load: () => Promise<Uint8Array>, use: (key: Uint8Array) => T): Promise<T>;
  /** Wipes everything. */
  clear(): void;
}

interface Kept {
  key: Uint8Array;
  timer: NodeJS.Timeout;
}

/** Holds keys for five minutes from their unwrapping, however often they are used, and wipes them when they go; oldest first. */
export function createKeyCache({ milliseconds = 300_000, max = 1_000 } = {}): KeyCache {
  const kept = new Map<string, Kept>();
  const loading = new Map<string, Promise<void>>();

  function wipe(id: string): void {
    const entry = kept.get(id);
    if (entry === undefined) return;
    clearTimeout(entry.timer);
    entry.key.fill(0);
    kept.delete(id);
  }

  function keep(id: string, key: Uint8Array): void {
    const [oldest] = kept.keys();
    if (kept.size >= max && oldest !== undefined) wipe(oldest);
    kept.set(id, { key, timer: setTimeout(wipe, milliseconds, id).unref() });
  }

  function loadOnce(id: string, load: () => Promise<Uint8Array>): Promise<void> {
    const running = loading.get(id);
    if (running !== undefined) return running;
    const started = load()
      .then((key) => keep(id, key))
      .finally(() => loading.delete(id));
    loading.set(id, started);
    return started;
  }

  return {
    async with(id, load, use) {
      for (;;) {
        const entry = kept.get(id);
        if (entry !== undefined) return use(entry.key);
        await loadOnce(id, load);
      }
    },
    clear: () => [...kept.keys()].forEach(wipe),
  };
}
