import type { MikroORM } from '@mikro-orm/postgresql';
import { SiteEntries } from '../../crawlers/snapshots/snapshot-site.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Kms } from '../../ports/kms.ts';
import { Outputs } from './outputs.ts';
import { PreviewKey } from './preview-key.ts';
import { PreviewTargets } from './preview-targets.ts';

/** What this process knows of published outputs and crawled sites. */
export interface Previews {
  targets: PreviewTargets;
  outputs: Outputs;
  entries: SiteEntries;
  key: PreviewKey;
}

interface Options {
  orm: MikroORM;
  /** For keys alone. */
  keyOrm: MikroORM;
  kms: Kms;
  blobs: BlobStore;
}

export const createPreviews = ({ orm, keyOrm, kms, blobs }: Options): Previews => ({
  targets: new PreviewTargets(orm),
  outputs: new Outputs(blobs),
  entries: new SiteEntries(orm),
  key: new PreviewKey(keyOrm, kms),
});
