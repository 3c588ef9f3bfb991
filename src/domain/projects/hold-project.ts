import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { Project } from './project.entity.ts';

/** The row of a project as it is now, held until the transaction ends: what is decided by it stays so. */
export const holdProject = (em: EntityManager, id: number): Promise<Project> =>
  em.findOneOrFail(Project, { id }, { refresh: true, lockMode: LockMode.PESSIMISTIC_WRITE });
