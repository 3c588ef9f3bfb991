import type { MikroORM } from '@mikro-orm/postgresql';
import type { BlobStore } from '../../ports/blobs.ts';
import type { Kms } from '../../ports/kms.ts';
import type { Log } from '../../ports/log.ts';
import { Outputs } from './outputs.ts';
import { PreviewKey } from './preview-key.ts';
import { PreviewTargets } from './preview-targets.ts';

/** What this process knows of published outputs. */
export interface Previews {
  targets: PreviewTargets;
  outputs: Outputs;
  key: PreviewKey;
}

interface Options {
  orm: MikroORM;
  kms: Kms;
  blobs: BlobStore;
  log: Log;
}

export const createPreviews = ({ orm, kms, blobs, log }: Options): Previews => ({
  targets: new PreviewTargets(orm),
  outputs: new Outputs(blobs, log),
  key: new PreviewKey(orm, kms),
});
