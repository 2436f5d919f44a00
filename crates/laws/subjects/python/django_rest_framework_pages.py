"""djangorestframework: CursorPagination, oldest first."""

import django_app
from django.urls import path
from rest_framework.pagination import CursorPagination
from rest_framework.response import Response
from rest_framework.views import APIView


class Pages(CursorPagination):
    ordering = ("created", "id")
    page_size_query_param = "limit"
    page_size = 50
    max_page_size = 100


class Items(APIView):
    authentication_classes = permission_classes = []

    def get(self, request):
        pages = Pages()
        rows = pages.paginate_queryset(django_app.Item.objects.all(), request, view=self)
        return pages.get_paginated_response([{"id": row.id, "name": row.name} for row in rows])

    def post(self, request):
        return django_app.create(request._request)


urlpatterns = [path("items", Items.as_view()), path("items/<int:id>", django_app.change_or_delete)]
django_app.serve()
