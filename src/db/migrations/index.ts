import { First } from './20261121-first.ts';
import { Studio } from './20261122-studio.ts';
import { ContentCache } from './20261123-content-cache.ts';
import { Upstream } from './20261124-upstream.ts';
import { Mergeability } from './20261125-mergeability.ts';
import { Deployments } from './20261126-deployments.ts';
import { Events } from './20261127-events.ts';
import { Previews } from './20261127-previews.ts';
import { StudioSchema } from './20261128-studio-schema.ts';
import { RetiredContent } from './20261129-retired-content.ts';
import { Crawlers } from './20261130-crawlers.ts';
import { DeploymentWarnings } from './20261201-deployment-warnings.ts';
import { Workflows } from './20261201-workflows.ts';
import { DeadLetters } from './20261202-dead-letters.ts';
import { CrawlCookies } from './20261203-crawl-cookies.ts';
import { DeliveryBodies } from './20261204-delivery-bodies.ts';
import { ExecutionQueues } from './20261206-execution-queues.ts';
import { CrawlRows } from './20261207-crawl-rows.ts';
import { ImportAttempts } from './20261208-import-attempts.ts';
import { CrawlIndexes } from './20261209-crawl-indexes.ts';

/** All migrations, oldest first; a name never changes once it has been released. */
export const migrations = [
  { name: '20261121-first', class: First },
  { name: '20261122-studio', class: Studio },
  { name: '20261123-content-cache', class: ContentCache },
  { name: '20261124-upstream', class: Upstream },
  { name: '20261125-mergeability', class: Mergeability },
  { name: '20261126-deployments', class: Deployments },
  { name: '20261127-previews', class: Previews },
  { name: '20261127-events', class: Events },
  { name: '20261128-studio-schema', class: StudioSchema },
  { name: '20261129-retired-content', class: RetiredContent },
  { name: '20261130-crawlers', class: Crawlers },
  { name: '20261201-workflows', class: Workflows },
  { name: '20261202-dead-letters', class: DeadLetters },
  { name: '20261201-deployment-warnings', class: DeploymentWarnings },
  { name: '20261203-crawl-cookies', class: CrawlCookies },
  { name: '20261204-delivery-bodies', class: DeliveryBodies },
  { name: '20261206-execution-queues', class: ExecutionQueues },
  { name: '20261207-crawl-rows', class: CrawlRows },
  { name: '20261208-import-attempts', class: ImportAttempts },
  { name: '20261209-crawl-indexes', class: CrawlIndexes },
];
