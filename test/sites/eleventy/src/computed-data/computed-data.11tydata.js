const section = 'given';

export default {
  tags: 'computed',
  permalink: (data) => `/${section}/${data.page.fileSlug}/`,
};
