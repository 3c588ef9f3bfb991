import { type ClassType, ObjectType } from 'type-graphql';
import { getCollection } from '../../../domain/studio/content/schemas.operations.ts';
import { createEntry } from '../../../domain/studio/entries/change-entries.operations.ts';
import { getEntry, listEntries } from '../../../domain/studio/entries/entries.operations.ts';
import { getPull, listPulls } from '../../../domain/studio/pulls/pulls.operations.ts';
import { getBranch } from '../../../domain/studio/repository/branches.operations.ts';
import { outputOf } from '../../types/operations.ts';
import type { Placed, ProjectArgs } from '../places.ts';

/** The content part of a project. */
@ObjectType({ description: 'Content of a project, read from its repository' })
export class Studio {}

export const Collection: ClassType = outputOf(getCollection, { edges: ['schema'] });
export const Entry: ClassType = outputOf(getEntry, { edges: ['collection'] });
export const EntrySummary: ClassType = outputOf(listEntries, { edges: ['collection'] });
export const SavedEntry: ClassType = outputOf(createEntry);
export const Pull: ClassType = outputOf(getPull, { edges: ['deployments'] });
export const PullSummary: ClassType = outputOf(listPulls);
export const Branch: ClassType = outputOf(getBranch, { edges: ['commit'] });

/** Which state of the content is read: that of a branch or of one commit; the default branch without either. */
export interface RefArgs {
  branch?: string | null | undefined;
  ref?: string | null | undefined;
}

export type StudioParent = Placed<ProjectArgs>;
export type CollectionParent = Placed<ProjectArgs & RefArgs & { collection: string }>;
export type EntryParent = Placed<ProjectArgs & RefArgs & { collection: string; slug: string }>;
export type BranchParent = Placed<ProjectArgs> & { name: string; commit: string };
export type PullParent = Placed<ProjectArgs> & { number: number; head: { ref: string }; base: { ref: string } };
