import { createContentCache } from '../../../../src/db/content-cache.ts';
import type { CollectionIndex } from '../../../../src/domain/studio/content/collection-index.ts';
import { ContentIndex } from '../../../../src/domain/studio/content/content-index.ts';
import { Activity } from '../../../../src/lib/timing.ts';
import type { Repository } from '../../../../src/ports/git.ts';
import type { Snapshot } from '../../../../src/ports/git-records.ts';
import type { TestApp } from '../../../support/app.ts';
import { noContentCache, silentLog } from '../../../support/no-content-cache.ts';

/** What a restarted process, or another one, has: nothing in memory, the same database. */
export const newIndex = ({ services }: TestApp) =>
  new ContentIndex({ cache: createContentCache(services.orm, silentLog), activity: new Activity(), log: silentLog });

/** Reads everything from the repository each time. */
export const uncachedIndex = () =>
  new ContentIndex({ cache: noContentCache, activity: new Activity(), log: silentLog });

/** A repository that counts what is read of it. */
export function counted(git: Repository): {
  git: Repository;
  count: { blobs: number; read: Set<unknown>; walks: number };
} {
  const count = { blobs: 0, read: new Set<unknown>(), walks: 0 };
  const watch = <T extends Repository | Snapshot>(target: T): T =>
    new Proxy(target, {
      get(object, name) {
        const value = Reflect.get(object, name, object);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          const oids = name === 'blobs' ? (given[0] as string[]) : name === 'blob' ? [given[0]] : [];
          count.blobs += oids.length;
          for (const oid of oids) count.read.add(oid);
          if (name === 'lastCommits') count.walks += 1;
          const result = value.apply(object, given);
          return name === 'snapshot' ? (result as Promise<Snapshot>).then(watch) : result;
        };
      },
    });
  return { git: watch(git), count };
}

/** A collection as the default branch holds it. */
export async function collectionAt(
  content: ContentIndex,
  git: Repository,
  name: string,
): Promise<{ snapshot: Snapshot; index: CollectionIndex }> {
  const snapshot = await git.snapshot(await git.head(await git.defaultBranch()));
  return { snapshot, index: (await content.site(git, snapshot)).collection(name) };
}
