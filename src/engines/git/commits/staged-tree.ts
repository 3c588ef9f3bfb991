import type { Oid } from '../../../domain/ports/git-records.ts';
import type { Change, StagedTree as StagedTreePort } from '../../../domain/ports/git-writes.ts';
import type { ObjectSource } from '../objects/object-source.ts';
import { PendingObjects } from '../objects/pending-objects.ts';
import { TreeSnapshot } from '../objects/snapshot.ts';
import { applyChanges } from './tree-edit.ts';

/** The tree a plan works on. What it lays over the head lives in a scratch of its own, which is dropped with the plan. */
export class StagedTree extends TreeSnapshot implements StagedTreePort {
  readonly #source: ObjectSource;
  readonly #scratch: PendingObjects | null;

  constructor(source: ObjectSource, commit: Oid | null, tree: Oid | null, scratch: PendingObjects | null = null) {
    super(scratch ?? source, commit, tree);
    this.#source = source;
    this.#scratch = scratch;
  }

  async with(changes: readonly Change[]): Promise<StagedTree> {
    const scratch = this.#scratch ?? new PendingObjects(this.#source);
    return new StagedTree(this.#source, null, await applyChanges(scratch, this.tree, changes), scratch);
  }
}
