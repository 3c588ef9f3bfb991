/** Whether what is repeated with other cases or at other moments is repeated as often as it is outside CI. */
export const isLong = process.env.PORTICO_TEST_LONG === '1';

/** How often a disturbance or a costly property is tried: a few times usually, many times by `npm run test:long`. */
export const rounds = (usual: number, long: number): number => (isLong ? long : usual);
