import { z } from 'zod';

/** A piece of a log as those who follow it get it. */
export const logText = z
  .object({ offset: z.int().min(0).describe('Bytes of the log before it'), text: z.string() })
  .meta({ id: 'DeploymentLogText' });
