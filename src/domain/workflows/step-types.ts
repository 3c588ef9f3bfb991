import { z } from 'zod';
import { condition } from './steps/condition.ts';
import { delay } from './steps/delay.ts';
import { fail, output } from './steps/endings.ts';
import { forEach } from './steps/for-each.ts';
import { http } from './steps/http.ts';
import { operation } from './steps/operation.ts';
import { parallel } from './steps/parallel.ts';
import type { Step, StepType } from './steps/step-type.ts';
import { transform } from './steps/transform.ts';
import { waitForInput } from './steps/wait-for-input.ts';

/** All types of steps, in the order in which a definition's faults name them. */
const types = [http, transform, condition, forEach, parallel, delay, waitForInput, operation, fail, output];

const byName: ReadonlyMap<string, StepType> = new Map(types.map((type) => [type.type, type]));

/** What a step's type knows of it; definitions hold only types that are listed. */
export const typeOf = ({ type }: Pick<Step, 'type'>): StepType => byName.get(type) as StepType;

/** Whether a step of a type acts on the outside or on the project. */
export const isActing = (step: Pick<Step, 'type'>): boolean => typeOf(step).acting !== undefined;

const list = z.array(z.lazy((): z.ZodType<Step> => step));
const [first, ...others] = types.map(({ schema }) => schema(list)) as [z.ZodObject, ...z.ZodObject[]];

/** A step of any type. What works with all of them knows only what they have in common. */
export const step = z.discriminatedUnion('type', [first, ...others]) as unknown as z.ZodType<Step>;
