import { z } from 'zod';

export const done = { type: z.boolean(), answer: () => true };
