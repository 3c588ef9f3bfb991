import type { Services } from '../kernel/services.ts';
import type { AssistantRuntime } from './assistant/conversations.operations.ts';
import type { CrawlersRuntime } from './crawlers/crawlers.ts';
import type { GrantCache } from './identity/grant-cache.ts';
import type { NamedPlaces } from './projects/places.ts';
import type { StudioRuntime } from './studio/studio.ts';
import type { SetupNote } from './users/setup.operations.ts';
import type { Engine } from './workflows/engine/engine.ts';
import type { WorkflowsRuntime } from './workflows/workflows.ts';

/**
 * What a process has: for protocols, which run operations of all features, and for what works behind them. No feature imports this; each names
 * what it needs.
 */
export interface AllServices extends Services {
  grants: GrantCache;
  places: NamedPlaces;
  setupNote: SetupNote;
  studio: StudioRuntime;
  crawlers: CrawlersRuntime;
  assistant: AssistantRuntime;
  workflows: WorkflowsRuntime & {
    /** The executions this process advances. */
    engine: Engine;
  };
}
