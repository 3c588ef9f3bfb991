import { type Extension, publicOperation } from '../../kernel/operation.ts';
import { projectOperation } from '../projects/operation.ts';
import type { ProjectRef } from '../projects/project.entity.ts';
import { inTurn } from './in-turn.ts';
import { type StudioRuntime, studioFor } from './studio.ts';
import { mirror } from './upstream/mirror.ts';

const studio: Extension<'project', { studio: StudioRuntime }, { studio: StudioRuntime }> = {
  provide: (services, { project }) => ({ studio: studioFor(services.studio, project as ProjectRef) }),
  // What is published may have changed: the caller's next request finds it, even before the notification has come round.
  afterCommit: ({ studio }) => studio.previews.targets.forget(),
};

/** An operation on what is here: a mirror neither looks at its upstream first nor pushes afterwards. */
export const localStudioOperation = projectOperation.with(studio).with(inTurn);
/** An operation of the studio of one project; a mirror is in step with its upstream before and after. */
export const studioOperation = localStudioOperation.with(mirror);
/** An operation of the service as a whole that uses the studio. */
export const publicStudioOperation = publicOperation.with<{ studio: StudioRuntime }, { studio: StudioRuntime }>({
  provide: ({ studio }) => ({ studio }),
});
