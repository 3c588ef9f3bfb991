/**
 * Options of an `LRUCache` that holds at most so many entries and takes memory as they come. Given as `max`, the cache would lay out room for
 * all of them at once: 28 bytes an entry, whether or not one ever comes.
 */
export const upTo = (entries: number) => ({ maxSize: entries, sizeCalculation: () => 1 });
