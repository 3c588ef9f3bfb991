/** Says of a string at a JSON Pointer whether it is a date that may stand without quotes. */
export type DateRule = (pointer: string, value: string) => boolean;
