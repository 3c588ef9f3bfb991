const data = {};
data.layout = 'base.njk';
data.permalink = '/folded/{{ page.fileSlug }}/';

export default data;
