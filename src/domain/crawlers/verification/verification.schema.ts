import { z } from 'zod';
import { timestamp } from '../../../kernel/shapes.ts';
import {
  findingOutcomes,
  proofMethods,
  verificationMethods,
  verificationStates,
} from './domain-verification.entity.ts';

export const verificationState = z.enum(verificationStates).meta({ id: 'VerificationState' });
export const verificationMethod = z.enum(verificationMethods).meta({ id: 'VerificationMethod' });
export const proofMethod = z.enum(proofMethods).meta({ id: 'VerificationProofMethod' });

const finding = z
  .object({
    method: proofMethod,
    outcome: z
      .enum(findingOutcomes)
      .meta({ id: 'VerificationOutcome' })
      .describe('`unreachable`: the proof could not be fetched, so that nothing is known'),
    detail: z.string(),
  })
  .meta({ id: 'VerificationFinding' });

const instructions = z
  .object({
    dns: z
      .object({ name: z.string(), type: z.literal('TXT'), value: z.string() })
      .meta({ id: 'VerificationDnsInstruction' })
      .nullable()
      .describe('Null for an address, which has no name'),
    file: z.object({ url: z.string(), content: z.string() }).meta({ id: 'VerificationFileInstruction' }),
    meta: z.object({ html: z.string() }).meta({ id: 'VerificationMetaInstruction' }),
  })
  .meta({ id: 'VerificationInstructions' });

/** How an organisation stands to a host, and how it can prove it. */
export const verification = z
  .object({
    host: z.string(),
    state: verificationState,
    method: verificationMethod.nullable(),
    token: z.string().nullable().describe('Only for callers with manage_crawlers; null until verification was started'),
    instructions: instructions.nullable().describe('As the token'),
    checks: z.array(finding).describe('What each method found last'),
    checked_at: timestamp.nullable(),
    verified_at: timestamp.nullable(),
  })
  .meta({ id: 'CrawlerVerification' });

/** Which host of a crawler is meant. */
export const hostChoice = {
  host: z
    .string()
    .max(300, 'must be the host of the crawler or one of its allowed_domains')
    .optional()
    .describe('The host of the crawler, or one of its allowed_domains'),
};
